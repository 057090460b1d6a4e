import type { ChatMessage } from "./model.js";

/**
 * MessageLog is the loaded end of one conversation: all messages from `from` on, in order, each once. Since seqs have no
 * gap, what is missing shows by itself; what the server says is not to be had is noted as void.
 */
export class MessageLog {
  private readonly bySeq = new Map<number, ChatMessage>();
  private readonly voids = new Set<number>();
  private sorted: readonly ChatMessage[] | undefined;
  private low = 0;

  /** The lowest seq of the window; 0 when nothing is loaded. */
  get from(): number {
    return this.low;
  }

  get last(): number {
    return this.messages.at(-1)?.seq ?? 0;
  }

  /** The messages in order; the same array as long as nothing changed. */
  get messages(): readonly ChatMessage[] {
    this.sorted ??= [...this.bySeq.values()].sort((a, b) => a.seq - b.seq);
    return this.sorted;
  }

  /** Takes a message; false where it is there already, or lies before the window. */
  add(m: ChatMessage): boolean {
    if (this.low === 0) this.low = m.seq;
    if (m.seq < this.low || this.bySeq.has(m.seq)) return false;
    this.bySeq.set(m.seq, m);
    this.sorted = undefined;
    return true;
  }

  get(seq: number): ChatMessage | undefined {
    return this.bySeq.get(seq);
  }

  /** Takes the newer state of a message that is there. */
  replace(m: ChatMessage): void {
    if (!this.bySeq.has(m.seq)) return;
    this.bySeq.set(m.seq, m);
    this.sorted = undefined;
  }

  /** Takes a message out, which is not to be had any more. */
  remove(seq: number): void {
    if (!this.bySeq.delete(seq)) return;
    this.voids.add(seq);
    this.sorted = undefined;
  }

  /** Lets the window begin at seq. */
  extend(seq: number): void {
    if (this.low === 0 || seq < this.low) this.low = seq;
  }

  /** Drops what lies below a seq: the window begins there at the earliest. */
  dropBelow(seq: number): void {
    if (this.low === 0 || this.low >= seq) return;
    this.low = seq;
    for (const at of this.bySeq.keys()) if (at < seq) this.bySeq.delete(at);
    for (const at of this.voids) if (at < seq) this.voids.delete(at);
    this.sorted = undefined;
  }

  /** Notes that there is nothing to be had from first to last, but for what is here. */
  void(first: number, last: number): void {
    for (let seq = first; seq <= last; seq++) if (!this.bySeq.has(seq)) this.voids.add(seq);
  }

  /** The first run of seqs that are missing between the window's begin and `upTo`. */
  hole(upTo: number): { first: number; last: number } | undefined {
    if (this.low === 0) return undefined;
    let next = this.low;
    const missing = (seq: number) => !this.bySeq.has(seq) && !this.voids.has(seq);
    while (next <= upTo && !missing(next)) next++;
    if (next > upTo) return undefined;
    let last = next;
    while (last < upTo && missing(last + 1)) last++;
    return { first: next, last };
  }

  clear(): void {
    this.bySeq.clear();
    this.voids.clear();
    this.sorted = undefined;
    this.low = 0;
  }
}
