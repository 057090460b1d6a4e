import { Backoff } from "./backoff.js";
import { asError, isOffline } from "./errors.js";

/** Where the user is in a video. */
export interface WatchPosition {
  readonly video: string;
  /** The post by which it is watched; "0": it is the user's own. */
  readonly post: string;
  readonly positionMs: number;
}

export interface WatchPositionsDeps {
  /** Stores a position on the server, which was reached so long ago. */
  send: (p: WatchPosition, ageMs: number) => Promise<unknown>;
  /** Who is signed in. */
  user: () => string;
  now: () => number;
  random: () => number;
}

/** While a video plays, its position is sent this often. */
const intervalMs = 10_000;
const retryBaseMs = 2_000;
/** The server refuses older ones. */
const mostAgeMs = 24 * 3_600_000;
/** So many videos wait at most: those that were watched last. */
const mostWaiting = 20;

interface Waiting extends WatchPosition {
  readonly user: string;
  readonly atMs: number;
}

/**
 * WatchPositions sends how far the user has watched videos: seldom while they play, at once when they are left, and later what could not be sent. Each says how long
 * ago it was reached, so none that had to wait replaces a later one of another device. One is sent at a time.
 */
export class WatchPositions {
  /** By video, also the one that is being sent. */
  private readonly waiting = new Map<string, Waiting>();
  private readonly backoff: Backoff;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private sending: Promise<void> | undefined;
  private sentMs = 0;

  constructor(private readonly deps: WatchPositionsDeps) {
    this.backoff = new Backoff(deps.random, retryBaseMs);
  }

  /** A video has come to a position. It is sent with the next ones, or at once. */
  reached(p: WatchPosition, atOnce: boolean): void {
    this.waiting.delete(p.video);
    this.waiting.set(p.video, { ...p, user: this.deps.user(), atMs: this.deps.now() });
    if (this.waiting.size > mostWaiting) this.waiting.delete(this.waiting.keys().next().value!);
    if (atOnce) void (this.sending ? this.sending.then(() => this.flush()) : this.flush()); // the request that is under way may have an earlier one
    else this.timer ??= setTimeout(() => void this.flush(), Math.max(0, this.sentMs + intervalMs - this.deps.now()));
  }

  /** Where a video was last on this device; undefined: the server has that. */
  of(video: string): number | undefined {
    const p = this.waiting.get(video);
    return p?.user === this.deps.user() ? p.positionMs : undefined;
  }

  /** Sends what waits. What could not be sent is sent later. */
  flush(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    this.sending ??= this.send().finally(() => (this.sending = undefined));
    return this.sending;
  }

  /** The user removed a video from the history, or with undefined all. It ends when no request is under way that may store one. */
  async forget(video?: string): Promise<void> {
    if (video !== undefined) this.waiting.delete(video);
    else this.waiting.clear();
    if (this.waiting.size === 0) {
      clearTimeout(this.timer);
      this.timer = undefined;
    }
    await this.sending;
  }

  private async send(): Promise<void> {
    for (const p of [...this.waiting.values()]) {
      if (this.waiting.get(p.video) !== p) continue; // a later one is sent next
      if (p.user !== this.deps.user()) {
        this.waiting.delete(p.video);
        continue;
      }
      const ageMs = Math.max(0, this.deps.now() - p.atMs);
      this.sentMs = this.deps.now();
      try {
        if (ageMs < mostAgeMs) await this.deps.send({ video: p.video, post: p.post, positionMs: p.positionMs }, ageMs);
        this.backoff.reset();
      } catch (err) {
        const error = asError(err);
        if (isOffline(error) || error.retryMs > 0) {
          if (this.waiting.size > 0) this.timer ??= setTimeout(() => void this.flush(), this.backoff.next(error.retryMs));
          return;
        }
      }
      if (this.waiting.get(p.video) === p) this.waiting.delete(p.video);
    }
    if (this.waiting.size > 0) this.timer ??= setTimeout(() => void this.flush(), intervalMs);
  }
}
