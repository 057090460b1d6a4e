type Subscribe = (listener: () => void) => () => void;

/** Longer than a frame. A hidden page has no frames, but its title still counts what is unread. */
const atLatestMs = 100;

/** Frames passes changes on at most once per frame of the screen. */
export class Frames {
  private readonly listeners = new Set<() => void>();
  private count = 0;
  private waiting = false;

  constructor(changes: Subscribe) {
    changes(() => this.wait());
  }

  readonly subscribe: Subscribe = (listener) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  /** Rises with what is passed on. */
  readonly shown = (): number => this.count;

  private wait(): void {
    if (this.waiting) return;
    this.waiting = true;
    let done = false;
    const pass = () => {
      if (done) return;
      done = true;
      clearTimeout(timer);
      this.waiting = false;
      this.count++;
      for (const f of this.listeners) f();
    };
    const timer = setTimeout(pass, atLatestMs);
    requestAnimationFrame(pass);
  }
}
