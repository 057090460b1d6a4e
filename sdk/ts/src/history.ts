import { inBackground } from "./background.js";
import { isOffline } from "./errors.js";
import type { HistoryResponse } from "./gen/rialto/chat/v1/chat_pb.js";
import { messageKey, type LocalData, type ReplicaDeps } from "./localdata.js";
import { MessageLog } from "./log.js";
import { oldestMs, toMessage, withText, type ChatMessage } from "./model.js";
import type { Op } from "./storage.js";

const pageMessages = 50;
/** The server gives so many messages at once by their seqs. */
const mostAsked = 200;
/** A page around a message, and how many of it come before that message. */
const around = { page: 100, before: 20 };
/** A hole of at most so many messages below the loaded end is filled. Behind a larger one, the loaded window leaves the end. */
const largestHole = 400;

/** History loads and holds the messages of conversations: each is a window that usually reaches the end. */
export class History {
  private readonly logs = new Map<string, MessageLog>();
  private readonly opened = new Set<string>();
  /** Conversations whose loaded window does not reach the end: what is new is not added to it. */
  private readonly detached = new Set<string>();
  private readonly filling = new Map<string, Promise<void>>();
  /** Pages that were fetched in advance, by conversation. */
  private readonly prefetched = new Map<string, { before: number; page: Promise<HistoryResponse> }>();

  constructor(
    private readonly data: LocalData,
    private readonly deps: Pick<ReplicaDeps, "api" | "store" | "onChange" | "now">,
  ) {}

  log(conversation: string): MessageLog {
    let log = this.logs.get(conversation);
    if (!log) this.logs.set(conversation, (log = new MessageLog()));
    return log;
  }

  isOpen(conversation: string): boolean {
    return this.opened.has(conversation);
  }

  /** Loads the end of a conversation and keeps it whole. */
  async open(conversation: string): Promise<void> {
    if (!this.opened.has(conversation)) {
      this.opened.add(conversation);
      const kept = this.unexpired(conversation, await this.deps.store.list<ChatMessage>("messages", { lower: `${conversation}/`, upper: `${conversation}0`, reverse: true, limit: pageMessages }));
      const log = this.log(conversation);
      let next = 0;
      for (const m of kept) {
        if (next !== 0 && m.seq !== next) break; // what lies behind a hole comes from the server
        log.extend(m.seq);
        log.add(m);
        next = m.seq - 1;
      }
      this.deps.onChange();
      inBackground(this.refreshThreads(conversation, kept));
    }
    await this.fill(conversation);
  }

  /** Reads the numbers of replies anew where they may have changed unseen: nothing in the stream tells them. */
  refreshOpened(): void {
    for (const id of this.opened) inBackground(this.refreshThreads(id, this.loaded(id)));
  }

  private async refreshThreads(conversation: string, of: readonly ChatMessage[]): Promise<void> {
    const seqs = of.filter((m) => m.thread).slice(-mostAsked).map((m) => BigInt(m.seq));
    if (seqs.length === 0) return;
    const ops: Op[] = [];
    const { messages } = await this.deps.api.getMessages({ conversation, seqs });
    for (const { seq, thread } of messages.map(toMessage)) if (thread) this.change(conversation, seq, (m) => ({ ...m, thread }), ops);
    this.data.keep(ops);
  }

  /** Adds a new message to a window that reaches the end. fillsHoles: fetches what is missing before it. */
  add(m: ChatMessage, fillsHoles: boolean): void {
    if (!this.opened.has(m.conversation) || this.detached.has(m.conversation)) return;
    this.log(m.conversation).add(m);
    if (fillsHoles) void this.fill(m.conversation);
  }

  /** Changes a loaded message; false where it is not loaded. */
  change(conversation: string, seq: number, by: (m: ChatMessage) => ChatMessage, ops: Op[]): boolean {
    const log = this.logs.get(conversation);
    const was = log?.get(seq);
    if (!log || !was) return false;
    const m = by(was);
    log.replace(m);
    ops.push({ table: "messages", key: messageKey(m), value: m });
    return true;
  }

  /** Replaces loaded messages by what the server has. */
  replace(messages: readonly ChatMessage[]): void {
    const ops: Op[] = [];
    for (const m of messages) this.change(m.conversation, m.seq, () => m, ops);
    this.data.keep(ops);
  }

  /** The conversation has grown, by messages that are not here. */
  grown(conversation: string): void {
    if (this.opened.has(conversation)) void this.fill(conversation);
  }

  /** The conversations were read anew. drop: what is loaded may have holes, and goes. */
  reset(drop: boolean): void {
    if (drop) {
      for (const log of this.logs.values()) log.clear();
      this.detached.clear();
    }
    this.prefetched.clear();
  }

  /** Drops what is loaded of one conversation. */
  forget(conversation: string): void {
    this.logs.delete(conversation);
    this.opened.delete(conversation);
    this.detached.delete(conversation);
    this.prefetched.delete(conversation);
  }

  fillOpened(): void {
    for (const id of this.opened) void this.fill(id);
  }

  /** Fetches what is missing between the loaded end and the conversation's tail. */
  private fill(conversation: string): Promise<void> {
    let work = this.filling.get(conversation);
    if (!work) {
      work = this.fillNow(conversation)
        .catch((err: unknown) => {
          if (!isOffline(err)) console.warn("rialto: history", err);
        })
        .finally(() => this.filling.delete(conversation));
      this.filling.set(conversation, work);
    }
    return work;
  }

  private async fillNow(conversation: string): Promise<void> {
    if (this.detached.has(conversation)) return;
    const log = this.log(conversation);
    // A message may come while the end is read, whose answer may then be older.
    for (let asked = -1; ; ) {
      const { lastSeq } = this.data.view(conversation);
      if (asked >= lastSeq || (log.messages.length > 0 && lastSeq - log.last <= largestHole)) break;
      asked = lastSeq;
      log.clear();
      const page = await this.deps.api.history({ conversation, limit: pageMessages });
      this.take(conversation, page.messages.map(toMessage));
      if (page.messages.length === 0) log.extend(lastSeq + 1); // nothing is there yet: the log is whole from the next message on
    }
    if (this.detached.has(conversation)) return; // meanwhile
    for (let hole = log.hole(this.data.view(conversation).lastSeq); hole; hole = log.hole(this.data.view(conversation).lastSeq)) {
      const page = await this.deps.api.history({ conversation, after: BigInt(hole.first - 1), limit: 200 });
      const messages = page.messages.map(toMessage);
      this.take(conversation, messages);
      const reached = Math.max(messages.at(-1)?.seq ?? 0, Number(page.unreadable.at(-1) ?? 0)) || hole.last;
      log.void(hole.first, Math.min(hole.last, page.more ? reached : hole.last));
    }
  }

  /**
   * Loads the messages around a seq. Where too many lie between them and the end, the loaded window does not reach the end:
   * newer loads on, and latest returns to it.
   */
  async openAt(conversation: string, seq: number): Promise<void> {
    await this.open(conversation);
    const log = this.log(conversation);
    const wanted = Math.max(seq, this.data.view(conversation).joinSeq, 1);
    if (log.from <= wanted && (!this.detached.has(conversation) || log.last >= wanted)) return;
    // No message is after 0: a page at the very beginning is one before its end, and its "more" means older ones.
    const after = Math.max(wanted - 1 - around.before, 0);
    const page = await this.deps.api.history({ conversation, ...(after > 0 ? { after: BigInt(after) } : { before: BigInt(around.page + 1) }), limit: around.page });
    const messages = page.messages.map(toMessage);
    const last = messages.at(-1)?.seq ?? 0;
    const more = after > 0 ? page.more : last < this.data.view(conversation).lastSeq;
    const reaches = !this.detached.has(conversation) && (!more || log.from - last <= largestHole);
    if (!reaches) log.clear();
    if (!more || reaches) this.detached.delete(conversation);
    else this.detached.add(conversation);
    this.take(conversation, messages);
    await this.fill(conversation);
  }

  /** Loads newer messages where the window does not reach the end; false once it does. */
  async newer(conversation: string): Promise<boolean> {
    if (!this.detached.has(conversation)) return false;
    const log = this.log(conversation);
    const page = await this.deps.api.history({ conversation, after: BigInt(log.last), limit: around.page });
    if (!this.detached.has(conversation)) return false;
    if (!page.more) this.detached.delete(conversation);
    this.take(conversation, page.messages.map(toMessage));
    if (page.more) return true;
    await this.fill(conversation); // what came in meanwhile
    return false;
  }

  /** Returns to the end. */
  async latest(conversation: string): Promise<void> {
    if (this.detached.delete(conversation)) {
      this.log(conversation).clear();
      this.opened.delete(conversation);
    }
    await this.open(conversation);
  }

  reachesEnd(conversation: string): boolean {
    return !this.detached.has(conversation);
  }

  /** Loads older messages, from the device where it has them; false when there are none. */
  async older(conversation: string): Promise<boolean> {
    const log = this.log(conversation);
    const c = this.data.view(conversation);
    if (log.from === 0 || log.from <= Math.max(1, c.joinSeq)) return false;
    const kept = await this.keptBefore(conversation, log.from);
    if (kept.length > 0) {
      this.take(conversation, kept);
      inBackground(this.refreshThreads(conversation, kept));
      return log.from > Math.max(1, c.joinSeq);
    }
    const page = await this.pageBefore(conversation, log.from);
    this.take(conversation, page.messages.map(toMessage));
    if (page.more) this.fetchAhead(conversation, log.from);
    else this.prefetched.delete(conversation);
    return page.more;
  }

  /** Forgets a message that the user deleted, and returns it if it was loaded. */
  remove(conversation: string, seq: number, ops: Op[]): ChatMessage | undefined {
    const log = this.logs.get(conversation);
    const was = log?.get(seq);
    log?.remove(seq);
    ops.push({ table: "messages", key: messageKey({ conversation, seq }) });
    return was;
  }

  private take(conversation: string, messages: ChatMessage[]): void {
    const log = this.log(conversation);
    const ops: Op[] = [];
    const first = messages[0];
    if (first) log.extend(log.from === 0 ? first.seq : Math.min(first.seq, log.from));
    for (const m of messages) {
      if (this.data.isDeleted(m)) {
        log.void(m.seq, m.seq);
        continue;
      }
      if (!log.add(m)) log.replace(m); // the answer has its present state
      ops.push({ table: "messages", key: messageKey(m), value: m });
    }
    this.data.keep(ops);
  }

  /** What the device has right before a seq, without a hole, in rising order. */
  private async keptBefore(conversation: string, seq: number): Promise<ChatMessage[]> {
    await this.data.written();
    const stored = await this.deps.store.list<ChatMessage>("messages", { lower: `${conversation}/`, upper: messageKey({ conversation, seq }), reverse: true, limit: pageMessages });
    const kept = this.unexpired(conversation, stored);
    const hole = kept.findIndex((m, i) => m.seq !== seq - 1 - i);
    return (hole < 0 ? kept : kept.slice(0, hole)).reverse();
  }

  /** Of stored messages, the newest first, those that have not expired. What has goes from the device, with all before it. */
  private unexpired(conversation: string, stored: ChatMessage[]): ChatMessage[] {
    const c = this.data.view(conversation);
    const cut = oldestMs(c, this.deps.now());
    const old = stored.findIndex((m) => m.timeMs < cut || m.seq < c.joinSeq);
    if (old < 0) return stored.map(withText);
    this.data.keep([{ table: "messages", key: `${conversation}/`, upper: messageKey({ conversation, seq: stored[old]!.seq + 1 }) }]);
    return stored.slice(0, old).map(withText);
  }

  /** The loaded messages of a conversation; none where it was not opened. */
  loaded(conversation: string): readonly ChatMessage[] {
    return this.logs.get(conversation)?.messages ?? [];
  }

  /** Forgets the messages below a seq, which one may not read any more. */
  dropBelow(conversation: string, seq: number, ops: Op[]): void {
    this.logs.get(conversation)?.dropBelow(seq);
    this.prefetched.delete(conversation);
    ops.push({ table: "messages", key: `${conversation}/`, upper: messageKey({ conversation, seq }) });
  }

  private pageBefore(conversation: string, before: number): Promise<HistoryResponse> {
    const ready = this.prefetched.get(conversation);
    if (ready?.before === before) return ready.page;
    return this.deps.api.history({ conversation, before: BigInt(before), limit: pageMessages });
  }

  /** Who scrolls back goes on scrolling: the next page is fetched while this one is read. */
  private fetchAhead(conversation: string, before: number): void {
    const page = this.deps.api.history({ conversation, before: BigInt(before), limit: pageMessages });
    this.prefetched.set(conversation, { before, page });
    page.catch(() => {
      if (this.prefetched.get(conversation)?.page === page) this.prefetched.delete(conversation);
    });
  }
}
