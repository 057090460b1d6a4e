/** A push that comes this long after its message was stored is late. */
const lateMs = 5_000;
/** After a late push the client polls for this long. */
const pollForMs = 30_000;
const pollEveryMs = 5_000;

export interface PushLagDeps {
  /** Reads the stream by a call. */
  sync: () => Promise<void>;
  now: () => number;
  random: () => number;
}

/**
 * PushLag watches how late pushes are while a socket is open, and syncs by calls while they lag. Two things show a lag: a pushed
 * message that was stored long ago by the server's clock, and an own message that was acknowledged and does not come back in the stream.
 */
export class PushLag {
  /** The server's clock less ours, as of its last word; that word's own way here is part of it. */
  private offsetMs: number | undefined;
  /** Own messages that were acknowledged and that the stream has not brought, with their timers. */
  private readonly awaited = new Map<number, ReturnType<typeof setTimeout>>();
  private lateAtMs = -Infinity;
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(private readonly deps: PushLagDeps) {}

  /** Whether pushes lag, so that calls take their place. */
  get lagging(): boolean {
    return this.timer !== undefined;
  }

  /** The server named its time. */
  clock(serverMs: number): void {
    if (serverMs > 0) this.offsetMs = serverMs - this.deps.now();
  }

  /** A push brought a message that was stored at this time. */
  pushed(timeMs: number): void {
    if (this.offsetMs !== undefined && this.deps.now() + this.offsetMs - timeMs > lateMs) this.late();
  }

  /** An own message is stored: the stream must bring it soon. */
  acknowledged(clientSeq: number): void {
    if (!this.awaited.has(clientSeq)) this.awaited.set(clientSeq, setTimeout(() => this.overdue(clientSeq), lateMs));
  }

  /** The stream, by a push or a sync, brought an own message. */
  arrived(clientSeq: number): void {
    clearTimeout(this.awaited.get(clientSeq));
    this.awaited.delete(clientSeq);
  }

  private overdue(clientSeq: number): void {
    this.awaited.delete(clientSeq);
    this.late();
  }

  private late(): void {
    this.lateAtMs = this.deps.now();
    this.timer ??= setTimeout(() => void this.poll(), 0);
  }

  private async poll(): Promise<void> {
    const { timer } = this;
    await this.deps.sync();
    if (timer !== this.timer) return; // stopped meanwhile
    const on = this.deps.now() - this.lateAtMs < pollForMs;
    this.timer = on ? setTimeout(() => void this.poll(), pollEveryMs * (0.8 + 0.4 * this.deps.random())) : undefined;
  }

  /** The socket closed. The next one begins anew. */
  stop(): void {
    for (const t of this.awaited.values()) clearTimeout(t);
    this.awaited.clear();
    clearTimeout(this.timer);
    this.timer = undefined;
    this.offsetMs = undefined;
    this.lateAtMs = -Infinity;
  }
}
