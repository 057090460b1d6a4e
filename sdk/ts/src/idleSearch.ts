/** A search ends when it is this close: this time, or this share of what is known to be kept. */
const toleranceMs = 5_000;
const toleranceShare = 8;
/** Of two idle times that should be the same, one is at least this share of the other. */
const same = 0.95;

/**
 * IdleSearch finds out for how long the path to the server keeps an idle connection: routers on the way forget one that is idle for longer. It doubles
 * the time until the path drops a connection, and then bisects. A time counts as too long when it failed twice, since networks fail for other reasons, too.
 */
export class IdleSearch {
  /** The longest idle time that the path has kept. */
  keptMs = 0;
  /** The shortest idle time after which it dropped a connection, twice; 0: none. */
  private droppedMs = 0;
  /** An idle time after which a connection was lost once; 0: none. */
  private suspectMs = 0;

  /** The time after which to ping next, of at least `fromMs` and at most `toMs`. */
  next(fromMs: number, toMs: number): number {
    const kept = Math.max(this.keptMs, fromMs);
    if (this.suspectMs) return clamp(this.suspectMs, fromMs, toMs);
    if (!this.droppedMs) return clamp(2 * kept, fromMs, toMs);
    return clamp(this.settled(fromMs, toMs) ? same * kept : (kept + this.droppedMs) / 2, fromMs, toMs);
  }

  /** Whether the search is over, so that the next time will be the same. */
  settled(fromMs: number, toMs: number): boolean {
    const kept = Math.max(this.keptMs, fromMs);
    if (this.suspectMs) return false;
    return this.droppedMs ? this.droppedMs - kept <= Math.max(toleranceMs, kept / toleranceShare) : kept >= toMs;
  }

  /** A ping after this idle time was answered. */
  kept(idleMs: number): void {
    this.keptMs = Math.max(this.keptMs, idleMs);
    if (idleMs >= same * this.suspectMs) this.suspectMs = 0;
    if (idleMs >= this.droppedMs) this.droppedMs = 0; // the path is another one now
  }

  /** A ping after this idle time was not answered, or the connection was closed. */
  dropped(idleMs: number): void {
    if (idleMs >= this.keptMs && same * idleMs <= this.keptMs) {
      this.suspectMs = 0;
      this.droppedMs = idleMs; // the limit is right here
      return;
    }
    if (!this.suspectMs || idleMs < same * this.suspectMs) {
      this.suspectMs = idleMs;
      return;
    }
    const twiceMs = Math.min(idleMs, this.suspectMs);
    if (twiceMs <= this.keptMs) this.keptMs = 0; // the path is another one now
    this.droppedMs = this.droppedMs ? Math.min(this.droppedMs, twiceMs) : twiceMs;
    this.suspectMs = 0;
  }

  /** The network is another one: nothing is known. */
  reset(): void {
    this.keptMs = this.droppedMs = this.suspectMs = 0;
  }
}

function clamp(ms: number, from: number, to: number): number {
  return Math.max(from, Math.min(ms, to));
}
