import type { StreamPosition } from "./chain.js";

export interface MarkUpdate {
  conversation: string;
  deliveredSeq: bigint;
  readSeq: bigint;
}

/**
 * Marks gathers cursor moves and the stream's acknowledgement, and lets them out together, at most once a second. Cursors
 * only grow, so the latest is all that needs to go.
 */
export class Marks {
  private readonly pending = new Map<string, { delivered: number; read: number }>();
  private ack: StreamPosition | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private lastMs = -Infinity;

  constructor(
    /** Puts them on the open connection; false where there is none. */
    private readonly transmit: (marks: MarkUpdate[], ack: StreamPosition | undefined) => boolean,
    private readonly now: () => number = Date.now,
    private readonly everyMs = 1_000,
  ) {}

  delivered(conversation: string, seq: number): void {
    const p = this.entry(conversation);
    p.delivered = Math.max(p.delivered, seq);
    this.arm();
  }

  read(conversation: string, seq: number): void {
    const p = this.entry(conversation);
    p.read = Math.max(p.read, seq);
    this.arm();
  }

  acknowledge(position: StreamPosition): void {
    this.ack = position;
    this.arm();
  }

  private entry(conversation: string): { delivered: number; read: number } {
    let p = this.pending.get(conversation);
    if (!p) this.pending.set(conversation, (p = { delivered: 0, read: 0 }));
    return p;
  }

  private arm(): void {
    this.timer ??= setTimeout(() => this.flush(), Math.max(0, this.lastMs + this.everyMs - this.now()));
  }

  /** Sends what is pending; what could not go stays for the next connection. */
  flush(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    if (this.pending.size === 0 && !this.ack) return;
    const marks = [...this.pending].map(([conversation, p]) => ({
      conversation,
      deliveredSeq: BigInt(p.delivered),
      readSeq: BigInt(p.read),
    }));
    if (!this.transmit(marks, this.ack)) return;
    this.lastMs = this.now();
    this.pending.clear();
    this.ack = undefined;
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
