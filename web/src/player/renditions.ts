import type { VideoRendition } from "@rialto-im/client";

/** A size that the player can play. */
export interface Level {
  width: number;
  height: number;
}

/** The name of a level, such as 720p: that of the server's rendition of the same size. */
export function nameOfLevel({ width, height }: Level, renditions: readonly VideoRendition[]): string {
  return renditions.find((r) => r.width === width && r.height === height)?.name ?? `${Math.min(width, height)}p`;
}

/** The levels that may be chosen by themselves, the first and the last of them. */
export interface AutoLevels {
  least: number;
  most: number;
}

/**
 * The levels that are played by themselves. While a video is being processed, some renditions end before the others, and one that is not as far as
 * the others would stop there.
 */
export function autoLevels(levels: readonly Level[], renditions: readonly VideoRendition[]): AutoLevels {
  const playable = levels.map((l) => renditions.find((r) => r.width === l.width && r.height === l.height)?.playableMs);
  const furthest = Math.max(0, ...playable.map((ms) => ms ?? 0));
  const mayPlay = playable.map((ms) => ms === undefined || ms === furthest);
  return { least: Math.max(0, mayPlay.indexOf(true)), most: Math.max(0, mayPlay.lastIndexOf(true)) };
}

/** The renditions on demand that are not there: those that nobody has asked for, and those that are being encoded, the largest first. */
export const onDemand = (renditions: readonly VideoRendition[]): VideoRendition[] => renditions.filter((r) => r.onDemand && !r.complete).reverse();

/** Whether the rendition on demand of a height is encoded, or is not there. undefined: it can be played, or there is none. */
export function onDemandState(renditions: readonly VideoRendition[], height: number | undefined): "encoding" | "missing" | undefined {
  const found = onDemand(renditions).find((r) => r.height === height);
  return found && (found.requested ? "encoding" : "missing");
}
