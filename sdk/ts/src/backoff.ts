/**
 * Backoff gives waits with full jitter: rand(0, min(ceiling, base * 2^n)). Many clients that lose one server at the same
 * instant thus come back spread over time.
 */
export class Backoff {
  private n = 0;

  constructor(
    private readonly random: () => number = Math.random,
    private readonly baseMs = 1_000,
    private readonly ceilingMs = 60_000,
  ) {}

  /** The number of waits since the last success. */
  get attempts(): number {
    return this.n;
  }

  /** The next wait; `atLeastMs` is what the server asked for, and is not shortened. */
  next(atLeastMs = 0): number {
    const bound = Math.min(this.ceilingMs, this.baseMs * 2 ** Math.min(this.n, 30));
    this.n++;
    return atLeastMs + this.random() * bound;
  }

  reset(): void {
    this.n = 0;
  }
}
