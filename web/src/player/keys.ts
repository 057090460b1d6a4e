/** What a key does in the player. */
export type PlayerCommand =
  | { kind: "toggle" | "mute" | "fullscreen" | "pictureInPicture" | "subtitles" }
  /** Seconds from where it is. */
  | { kind: "seekBy"; seconds: number }
  /** A part of the whole, 0 to 1. */
  | { kind: "seekTo"; part: number }
  | { kind: "volumeBy"; change: number }
  /** One step slower or faster. */
  | { kind: "speedBy"; steps: -1 | 1 };

export interface PressedKey {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

const commands: Record<string, PlayerCommand> = {
  " ": { kind: "toggle" },
  k: { kind: "toggle" },
  arrowleft: { kind: "seekBy", seconds: -5 },
  arrowright: { kind: "seekBy", seconds: 5 },
  j: { kind: "seekBy", seconds: -10 },
  l: { kind: "seekBy", seconds: 10 },
  arrowup: { kind: "volumeBy", change: 0.1 },
  arrowdown: { kind: "volumeBy", change: -0.1 },
  home: { kind: "seekTo", part: 0 },
  end: { kind: "seekTo", part: 1 },
  m: { kind: "mute" },
  f: { kind: "fullscreen" },
  i: { kind: "pictureInPicture" },
  c: { kind: "subtitles" },
  "<": { kind: "speedBy", steps: -1 },
  ">": { kind: "speedBy", steps: 1 },
};

/** What has the focus: a button keeps its own keys; a list of choices, and a field for text, all of them. */
export function focusOf(e: Element): "button" | "choices" | "other" {
  if (e.tagName === "BUTTON") return "button";
  return e.tagName === "SELECT" || (e.tagName === "INPUT" && (e as HTMLInputElement).type === "text") ? "choices" : "other";
}

/** What a pressed key does. `on` is what has the focus: a button keeps its own keys, and a list of choices all of them. */
export function commandOf(e: PressedKey, on: "button" | "choices" | "other"): PlayerCommand | undefined {
  if (e.ctrlKey || e.metaKey || e.altKey || on === "choices" || (on === "button" && e.key === " ")) return undefined;
  if (/^[0-9]$/.test(e.key)) return { kind: "seekTo", part: Number(e.key) / 10 };
  return commands[e.key.toLowerCase()];
}

/** Whether a command is about what a voice message has: it has no picture, and the keys up and down belong to the list around it. */
export const isForSound = ({ kind }: PlayerCommand): boolean => kind === "toggle" || kind === "mute" || kind === "seekBy" || kind === "seekTo" || kind === "speedBy";

export const speeds = [0.5, 0.75, 1, 1.25, 1.5, 2] as const;

/** The speed that is so many steps from one. */
export function speedAfter(speed: number, steps: number): number {
  const at = speeds.findIndex((s) => s >= speed);
  return speeds[Math.min(speeds.length - 1, Math.max(0, (at < 0 ? speeds.length - 1 : at) + steps))]!;
}
