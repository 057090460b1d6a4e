type Subscribe = (listener: () => void) => () => void;

/** A hidden page renders no frames, but its title still shows the unread count: notify after this time at the latest. */
const longestWaitMs = 100;

/** FrameStore notifies its listeners of changes at most once for each frame that the browser renders. */
export class FrameStore {
  private readonly listeners = new Set<() => void>();
  private unsubscribe: (() => void) | undefined;
  private shown: number;
  private waiting = false;

  /** `version` rises with each change. */
  constructor(
    private readonly changes: Subscribe,
    private readonly version: () => number,
  ) {
    this.shown = version();
  }

  readonly subscribe: Subscribe = (listener) => {
    if (!this.unsubscribe) {
      this.unsubscribe = this.changes(() => this.wait());
      this.shown = this.version(); // React compares it with what was rendered before
    }
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size > 0) return;
      this.unsubscribe?.();
      this.unsubscribe = undefined;
    };
  };

  /** The version of the last notification. */
  readonly snapshot = (): number => this.shown;

  private wait(): void {
    if (this.waiting) return;
    this.waiting = true;
    let done = false;
    const pass = () => {
      if (done) return;
      done = true;
      clearTimeout(timer);
      this.waiting = false;
      this.shown = this.version();
      for (const f of [...this.listeners]) f();
    };
    const timer = setTimeout(pass, longestWaitMs);
    if (typeof requestAnimationFrame !== "undefined") requestAnimationFrame(pass);
  }
}
