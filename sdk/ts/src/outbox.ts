import { toBinary } from "@bufbuild/protobuf";
import { ContentSchema, type Content } from "./gen/rialto/chat/v1/message_pb.js";
import type { Receipt } from "./gen/rialto/gateway/v1/gateway_pb.js";
import { textOf, withText, type IsSame, type OutgoingMessage, type Reference } from "./model.js";
import { numberKey, type Op, type Store } from "./storage.js";
import { targetOf } from "./updates.js";

export interface OutboxDeps {
  store: Store;
  /** The name of the device's counter in the store. */
  counter: string;
  /** Puts sends on the open connection; false where there is none. */
  transmit: (sends: { conversation: string; clientSeq: bigint; content: Content; prevClientSeq: bigint }[]) => boolean;
  now: () => number;
  onChange: (conversation: string) => void;
  /** A receipt came: the stream has to bring the message soon. */
  onAcknowledged: (item: OutgoingMessage) => void;
  /** The server has it; the outbox does not any more. */
  onStored: (item: OutgoingMessage, receipt: StoredAs) => void;
}

/** Where the server stored a message. */
export interface StoredAs {
  id: string;
  seq: number;
  timeMs: number;
  counted: number;
}

/** At most this many sends, and about this many bytes, in one frame: far below what the server takes, also as JSON. */
const frameSends = 50;
const frameBytes = 128_000;
/** A send without receipt for this long on an open connection is repeated; that is harmless. */
const receiptTimeoutMs = 20_000;
/** A message that the server holds is answered after half an hour at the latest, unless the connection ends. */
const heldTimeoutMs = 35 * 60_000;

/** The seq of the message that an unsent one changes or answers; 0: it names none by a seq. */
function seqIn(item: OutgoingMessage): number {
  return targetOf(item.content) || Number(item.content.replyTo?.seq ?? 0n);
}

/**
 * Outbox is the send queue. A message gets its number, is stored on the device, is sent, and stays until a receipt says
 * that the server stored it; after each reconnect all that are left go again, in order. The number makes repeats harmless.
 */
export class Outbox {
  private items: OutgoingMessage[] = [];
  /** When each was last put on the present connection. */
  private readonly sentAt = new Map<number, number>();
  /** Not before this time: the server asked to wait. */
  private readonly heldUntil = new Map<number, number>();
  /** By conversation, the number of the message that was sent last on the present connection. */
  private readonly lastSent = new Map<string, number>();
  /** Numbers up to here are used, as far as the server knows. */
  private floor = 0;
  /** The highest number that the server had when the last connection began; before the first, it may have all. */
  private storedUpTo = Infinity;
  /** The numbers that were sent since then. */
  private readonly sent = new Set<number>();
  /** Keeps the order in which sends were asked for, while numbers are drawn and stored. */
  private tail: Promise<unknown> = Promise.resolve();
  private timer: ReturnType<typeof setTimeout> | undefined;
  /** The stream is known up to its end since the last connection began: the seqs that messages name are those that the server means. */
  private whole = false;

  constructor(private readonly deps: OutboxDeps) {}

  async load(): Promise<void> {
    this.items = (await this.deps.store.list<OutgoingMessage>("outbox")).map(withText);
  }

  get size(): number {
    return this.items.length;
  }

  list(conversation: string): OutgoingMessage[] {
    return this.items.filter((i) => i.conversation === conversation);
  }

  all(): readonly OutgoingMessage[] {
    return this.items;
  }

  /** Resolves once the message is kept on the device, written together with ops. */
  enqueue(conversation: string, content: Content, ops: readonly Op[] = []): Promise<OutgoingMessage> {
    const work = this.tail.then(async () => {
      const clientSeq = await this.deps.store.count(this.deps.counter, this.floor);
      const item: OutgoingMessage = { conversation, clientSeq, text: textOf(content), content, createdMs: this.deps.now() };
      await this.deps.store.write([{ table: "outbox", key: numberKey(clientSeq), value: item }, ...ops]);
      this.items.push(item);
      this.deps.onChange(conversation);
      this.pump();
      return item;
    });
    this.tail = work.catch(() => {});
    return work;
  }

  /** A connection is open: `clientSeq` is the highest number that the server has of this device. */
  opened(clientSeq: number): void {
    this.floor = Math.max(this.floor, clientSeq);
    this.storedUpTo = clientSeq;
    this.sent.clear();
    this.sentAt.clear();
    this.lastSent.clear();
    this.heldUntil.clear();
    this.whole = false;
    this.pump();
  }

  /** The stream is here up to its end: what names messages by their seqs may go. */
  synced(): void {
    if (this.whole) return;
    this.whole = true;
    this.pump();
  }

  /** The messages that waiting ones name by their seqs. */
  references(): Reference[] {
    return this.items.filter((i) => seqIn(i) > 0).map((i) => ({ conversation: i.conversation, seq: seqIn(i) }));
  }

  /** A message is sent now, by a call. */
  sending(item: OutgoingMessage): void {
    this.sent.add(item.clientSeq);
  }

  /** Whether the server may have a message whose receipt did not come. */
  private maybeStored(item: OutgoingMessage): boolean {
    return !item.failed && (item.clientSeq <= this.storedUpTo || this.sent.has(item.clientSeq));
  }

  /**
   * After a reset, gives up changes of messages that the server has lost. Answers to such messages go without the reference. One that the server may have stays
   * as it is: the server would take a change for another message with the same number.
   */
  async dropLost(isSame: IsSame): Promise<void> {
    const lost = this.items.filter((i) => seqIn(i) > 0 && !isSame(i.conversation, seqIn(i)));
    for (const { clientSeq } of lost) {
      const item = this.find(clientSeq); // receipts come meanwhile
      if (!item) continue;
      if (targetOf(item.content) === 0) {
        if (this.maybeStored(item)) continue;
        const { replyTo: _, ...content } = item.content;
        await this.replace(item, { ...item, content });
        continue;
      }
      this.take(item.clientSeq);
      this.deps.onChange(item.conversation);
      await this.deps.store.write([{ table: "outbox", key: numberKey(item.clientSeq) }]);
    }
  }

  closed(): void {
    this.sentAt.clear();
    this.lastSent.clear();
    clearTimeout(this.timer);
  }

  /** Those that may go now, in order: never one before an earlier one of its conversation that has to wait. */
  due(): OutgoingMessage[] {
    const now = this.deps.now();
    const waiting = new Set<string>();
    const due: OutgoingMessage[] = [];
    for (const item of this.items) {
      if (item.failed || waiting.has(item.conversation)) continue;
      if ((this.heldUntil.get(item.clientSeq) ?? 0) > now || (!this.whole && seqIn(item) > 0)) waiting.add(item.conversation);
      else if (now - (this.sentAt.get(item.clientSeq) ?? -Infinity) >= receiptTimeoutMs) due.push(item);
    }
    return due;
  }

  pump(): void {
    let due = this.due();
    const predecessors = this.predecessors();
    while (due.length > 0) {
      const batch: OutgoingMessage[] = [];
      let bytes = 0;
      for (const item of due.slice(0, frameSends)) {
        bytes += toBinary(ContentSchema, item.content).length;
        if (batch.length > 0 && bytes > frameBytes) break;
        batch.push(item);
      }
      const sends = batch.map((i) => {
        // The server keeps the order of one connection. It has to check a predecessor only if that was sent in another way, or not just before.
        const prev = predecessors.get(i.clientSeq) ?? 0;
        const follows = this.lastSent.get(i.conversation) === prev;
        this.lastSent.set(i.conversation, i.clientSeq);
        return { conversation: i.conversation, clientSeq: BigInt(i.clientSeq), content: i.content, prevClientSeq: follows ? 0n : BigInt(prev) };
      });
      if (!this.deps.transmit(sends)) {
        this.lastSent.clear();
        return;
      }
      const now = this.deps.now();
      for (const item of batch) {
        this.sentAt.set(item.clientSeq, now);
        this.sent.add(item.clientSeq);
      }
      due = due.slice(batch.length);
    }
    this.arm();
  }

  /** For each message, the number of the one before it in its conversation. Messages that were refused for good are skipped. */
  private predecessors(): Map<number, number> {
    const before = new Map<number, number>();
    const last = new Map<string, number>();
    for (const item of this.items) {
      if (item.failed) continue;
      const prev = last.get(item.conversation);
      if (prev !== undefined) before.set(item.clientSeq, prev);
      last.set(item.conversation, item.clientSeq);
    }
    return before;
  }

  private arm(): void {
    clearTimeout(this.timer);
    const now = this.deps.now();
    let wait = Infinity;
    for (const item of this.items) {
      if (item.failed) continue;
      const at = Math.max(this.heldUntil.get(item.clientSeq) ?? 0, (this.sentAt.get(item.clientSeq) ?? now) + receiptTimeoutMs);
      const held = this.heldUntil.get(item.clientSeq);
      wait = Math.min(wait, Math.max(0, (held && held > now ? held : at) - now));
    }
    if (wait < Infinity) this.timer = setTimeout(() => this.pump(), Math.max(50, wait));
  }

  /** The server holds the message, and tries by itself: it goes again only on another connection. */
  accepted(clientSeq: number): void {
    if (this.find(clientSeq)) this.sentAt.set(clientSeq, this.deps.now() + heldTimeoutMs - receiptTimeoutMs);
  }

  async receipt(r: Receipt): Promise<void> {
    const item = this.find(Number(r.clientSeq));
    if (!item) return;
    if (!r.error) {
      this.deps.onAcknowledged(item);
      return this.stored(item, { id: r.id, seq: Number(r.seq), timeMs: Number(r.timeMs), counted: Number(r.counted) });
    }
    await this.refused(item, r.error);
  }

  /** Takes the answer to a send of this number, whichever way it came. */
  async refused(item: OutgoingMessage, error: { code: string; reason: string; message: string; retryMs: number }): Promise<void> {
    this.sentAt.delete(item.clientSeq);
    if (error.retryMs > 0 || error.code === "unauthenticated") {
      this.heldUntil.set(item.clientSeq, this.deps.now() + Math.max(error.retryMs, 500));
      if (error.reason === "missing_previous") return this.repeatBefore(item);
      return this.arm();
    }
    if (error.reason === "id_reuse") return this.renumber(item);
    const failed = { code: error.code, reason: error.reason, message: error.message };
    await this.replace(item, { ...item, failed });
  }

  /** The server lacks a message before this one: all of those are sent again, at once. */
  private repeatBefore(item: OutgoingMessage): void {
    for (const i of this.items) {
      if (i.conversation === item.conversation && i.clientSeq < item.clientSeq) this.sentAt.delete(i.clientSeq);
    }
    this.pump();
  }

  /** The server has the message: a receipt, or the message itself coming back in the stream. */
  async stored(item: OutgoingMessage, as: StoredAs): Promise<void> {
    this.take(item.clientSeq);
    this.deps.onStored(item, as);
    this.deps.onChange(item.conversation);
    await this.deps.store.write([{ table: "outbox", key: numberKey(item.clientSeq) }]);
  }

  find(clientSeq: number): OutgoingMessage | undefined {
    return this.items.find((i) => i.clientSeq === clientSeq);
  }

  /** Sends a refused message again, as a new one. */
  async retry(clientSeq: number): Promise<void> {
    const item = this.find(clientSeq);
    if (item?.failed) await this.renumber(item);
  }

  /** Gives up a refused message. One that may be stored already cannot be taken back. */
  async discard(clientSeq: number): Promise<void> {
    const item = this.find(clientSeq);
    if (!item?.failed) return;
    this.take(clientSeq);
    await this.deps.store.write([{ table: "outbox", key: numberKey(clientSeq) }]);
    this.deps.onChange(item.conversation);
  }

  private renumber(item: OutgoingMessage): Promise<void> {
    const work = this.tail.then(async () => {
      const clientSeq = await this.deps.store.count(this.deps.counter, this.floor);
      const { failed: _, ...rest } = item;
      await this.replace(item, { ...rest, clientSeq });
      this.pump();
    });
    this.tail = work.catch(() => {});
    return work;
  }

  private async replace(item: OutgoingMessage, by: OutgoingMessage): Promise<void> {
    this.take(item.clientSeq);
    this.items.push(by);
    this.items.sort((a, b) => a.clientSeq - b.clientSeq);
    this.deps.onChange(item.conversation);
    const ops = [{ table: "outbox" as const, key: numberKey(by.clientSeq), value: by }];
    await this.deps.store.write(by.clientSeq === item.clientSeq ? ops : [{ table: "outbox", key: numberKey(item.clientSeq) }, ...ops]);
  }

  private take(clientSeq: number): void {
    this.items = this.items.filter((i) => i.clientSeq !== clientSeq);
    this.sent.delete(clientSeq);
    this.sentAt.delete(clientSeq);
    this.heldUntil.delete(clientSeq);
  }
}
