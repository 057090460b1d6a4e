/** How fast bytes go, over the last seconds. */
export interface Speed {
  bytesPerSecond: number;
  /** Until all have gone; undefined while no speed is known. */
  remainingMs?: number;
}

const windowMs = 5_000;

/** Measures the speed of an upload. `from` bytes had gone before. */
export class SpeedMeter {
  private readonly samples: { at: number; bytes: number }[] = [];

  constructor(from: number, private readonly total: number, private readonly now: () => number = Date.now) {
    this.samples.push({ at: now(), bytes: from });
  }

  add(bytes: number): Speed {
    const at = this.now();
    this.samples.push({ at, bytes });
    while (this.samples.length > 2 && this.samples[1]!.at <= at - windowMs) this.samples.shift();
    const first = this.samples[0]!;
    const bytesPerSecond = at > first.at ? Math.max(0, (1_000 * (bytes - first.bytes)) / (at - first.at)) : 0;
    return bytesPerSecond > 0 ? { bytesPerSecond, remainingMs: (1_000 * (this.total - bytes)) / bytesPerSecond } : { bytesPerSecond };
  }
}
