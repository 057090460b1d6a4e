import type { KeyValueStorage } from "../storage.js";

const prefix = "video-positions/";
/** So many videos have a position, the last ones that were watched. */
const mostVideos = 200;
/** So close to its beginning or end, a video begins again: a part of its length, and no more than some seconds. */
const marginPart = 0.1;
const mostMarginS = 5;

/** Where the user stopped to watch each video, in this browser. */
export class Positions {
  constructor(
    private readonly storage: Pick<KeyValueStorage, "getItem" | "setItem">,
    private readonly me: () => string,
  ) {}

  /** In seconds; 0 where it begins at its beginning. */
  get(video: string): number {
    const at = this.load().find(([id]) => id === video)?.[1] ?? 0;
    return Number.isFinite(at) && at > 0 ? at : 0;
  }

  set(video: string, seconds: number, duration: number): void {
    const others = this.load().filter(([id]) => id !== video);
    const margin = Math.min(mostMarginS, marginPart * duration);
    const isMiddle = seconds > margin && seconds < duration - margin;
    const list = isMiddle ? [...others, [video, Math.floor(seconds)] as const].slice(-mostVideos) : others;
    try {
      this.storage.setItem(prefix + this.me(), JSON.stringify(list));
    } catch {
      // A full or forbidden storage: the video begins at its beginning.
    }
  }

  /** Those that were watched last come last. */
  private load(): (readonly [string, number])[] {
    try {
      const stored = JSON.parse(this.storage.getItem(prefix + this.me()) ?? "[]") as unknown;
      return Array.isArray(stored) ? stored.filter((e): e is [string, number] => Array.isArray(e) && typeof e[0] === "string" && typeof e[1] === "number") : [];
    } catch {
      return [];
    }
  }
}
