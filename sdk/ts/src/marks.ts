import type { StreamPosition } from "./position.js";

/** Marks sent this long before a connection ended are sent again: a dead connection is noticed sooner than that. */
const resendWindowMs = 60_000;

export interface MarkUpdate {
  conversation: string;
  deliveredSeq: bigint;
  readSeq: bigint;
}

/**
 * Marks collects cursor moves and the acknowledgement of the stream, and sends them together, at most once a second. Cursors
 * only grow, so only the latest is sent.
 */
export class Marks {
  private readonly pending = new Map<string, { delivered: number; read: number }>();
  /** Marks sent lately on the present connection, which may end before the server reads them. */
  private sent: { atMs: number; marks: MarkUpdate[] }[] = [];
  private ack: StreamPosition | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private lastMs = -Infinity;

  constructor(
    /** Sends marks on the open connection. False where there is none, or where the stream is not known up to its end: a restored server may have given the seqs to other messages. */
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

  /** Sends the pending marks. Those that cannot be sent yet stay pending. */
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
    this.sent = this.sent.filter((s) => this.lastMs - s.atMs < resendWindowMs);
    this.sent.push({ atMs: this.lastMs, marks });
    this.pending.clear();
    this.ack = undefined;
  }

  /** The connection ended: marks sent shortly before are sent again on the next one. Cursors only grow, so that is harmless. */
  closed(): void {
    const now = this.now();
    for (const s of this.sent.splice(0)) if (now - s.atMs < resendWindowMs) for (const m of s.marks) this.putBack(m);
  }

  /** Removes and returns the pending marks. Without a connection they are sent by calls. */
  takeAll(): MarkUpdate[] {
    const marks = [...this.pending].map(([conversation, p]) => ({ conversation, deliveredSeq: BigInt(p.delivered), readSeq: BigInt(p.read) }));
    this.pending.clear();
    return marks;
  }

  putBack(m: MarkUpdate): void {
    const p = this.entry(m.conversation);
    p.delivered = Math.max(p.delivered, Number(m.deliveredSeq));
    p.read = Math.max(p.read, Number(m.readSeq));
  }

  /** The server may have lost messages, and given their seqs to others: cursors that were not told, or lately, may be beyond what was read. */
  forget(): void {
    this.pending.clear();
    this.sent = [];
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }
}
