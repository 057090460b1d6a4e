import type { VideoStoryboard } from "@rialto-im/client";

export interface Tile {
  url: string;
  /** Place of the frame in the image, in pixels. */
  x: number;
  y: number;
  width: number;
  height: number;
}

/** The small frame of a time; undefined where the storyboard has none. */
export function tileAt(s: VideoStoryboard | undefined, seconds: number): Tile | undefined {
  if (!s || s.count === 0 || s.columns === 0 || s.intervalMs === 0) return undefined;
  const n = Math.min(s.count - 1, Math.max(0, Math.floor((seconds * 1_000) / s.intervalMs)));
  return { url: s.url, x: (n % s.columns) * s.tileWidth, y: Math.floor(n / s.columns) * s.tileHeight, width: s.tileWidth, height: s.tileHeight };
}
