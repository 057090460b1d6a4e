import type { ServiceClient } from "./api.js";
import { isAfter, judge, type StreamPosition } from "./chain.js";
import { asError, isOffline } from "./errors.js";
import type { ChatService, Conversation, Event, HistoryResponse, Relation as RelationPb, SyncResponse } from "./gen/rialto/chat/v1/chat_pb.js";
import type { GraphService } from "./gen/rialto/account/v1/account_pb.js";
import { MessageLog } from "./log.js";
import type { Marks } from "./marks.js";
import { applyMessage, mergeConversation, mergeState, toMessage, toRelation, unknownConversation, type ChatMessage, type ConversationView, type JoinRequests, type OutgoingMessage, type PendingSettings, type Relation } from "./model.js";
import type { StoredAs } from "./outbox.js";
import { numberKey, type Op, type Store } from "./storage.js";

export interface ReplicaDeps {
  me: string;
  store: Store;
  marks: Marks;
  api: ServiceClient<typeof ChatService>;
  graph: ServiceClient<typeof GraphService>;
  onChange: () => void;
  onMessage: (m: ChatMessage) => void;
  onRelation: () => void;
  onProfile: (user: string) => void;
  onJoinRequests: (r: JoinRequests) => void;
  ownStored: (m: ChatMessage) => void;
  /** Whether this window is the one that stores what the stream brings: of several, one. */
  leads: () => boolean;
}

const pageMessages = 50;
const syncLimit = 1_000;
const positionKey = "position";
const retrySyncMs = 2_000;
const dayMs = 24 * 60 * 60 * 1_000;

/**
 * Replica is the device's copy of what the server has for its user. Events are taken in the order of the stream; where one
 * is missing, and after each reconnect, the stream is synced. What events change and the position that they lead to are
 * stored in one write, so that a crash of the page repeats events and never leaves one out.
 */
export class Replica {
  readonly conversations = new Map<string, ConversationView>();
  readonly relations = new Map<string, Relation>();
  position: StreamPosition | undefined;

  private readonly logs = new Map<string, MessageLog>();
  private readonly opened = new Set<string>();
  private readonly filling = new Map<string, Promise<void>>();
  private readonly fetching = new Set<string>();
  private syncing: Promise<void> | undefined;
  /** A pushed event that came while the stream was synced, and was left to the sync. */
  private missed: StreamPosition | undefined;
  private writing: Promise<void> = Promise.resolve();
  private retryTimer: ReturnType<typeof setTimeout> | undefined;
  private stopped = false;
  /** Pages of history fetched before they are asked for, by conversation. */
  private readonly ahead = new Map<string, { before: number; page: Promise<HistoryResponse> }>();

  constructor(private readonly deps: ReplicaDeps) {}

  async load(): Promise<void> {
    const { store } = this.deps;
    this.position = await store.get<StreamPosition>("meta", positionKey);
    for (const c of await store.list<ConversationView>("conversations")) this.conversations.set(c.id, c);
    for (const r of await store.list<Relation>("relations")) this.relations.set(r.user, r);
  }

  /** Ends all that would go on by itself; resolves when what was taken is stored. */
  stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.retryTimer);
    return this.writing;
  }

  /** This window became the one that stores: what it holds goes to the store as a whole. */
  lead(): void {
    if (!this.position) return;
    const ops: Op[] = [];
    for (const c of this.conversations.values()) ops.push({ table: "conversations", key: c.id, value: c });
    for (const r of this.relations.values()) ops.push({ table: "relations", key: r.user, value: r });
    this.keep(ops);
  }

  log(conversation: string): MessageLog {
    let log = this.logs.get(conversation);
    if (!log) this.logs.set(conversation, (log = new MessageLog()));
    return log;
  }

  // --- the stream ---

  /** Takes pushed events. One that does not follow what is here is left to a sync. */
  pushed(events: readonly Event[]): void {
    const ops: Op[] = [];
    for (const e of events) {
      const at = { epoch: e.epoch, seq: Number(e.seq) };
      if (at.seq === 0) {
        // A message of a large group: its place is that in the conversation.
        if (e.body.case === "message") this.takeMessage(toMessage(e.body.value), ops, true);
        continue;
      }
      if (this.syncing) {
        this.miss(at);
        continue;
      }
      const verdict = judge(this.position, { ...at, prev: Number(e.prev) });
      if (verdict === "old") continue;
      if (verdict === "gap") {
        this.miss(at);
        void this.sync();
        continue;
      }
      this.takeEvent(e, ops, true);
      this.position = at;
    }
    this.keep(ops);
  }

  /** Whether the copy is being brought up to the server's tail. */
  get catchingUp(): boolean {
    return this.syncing !== undefined;
  }

  private miss(at: StreamPosition): void {
    if (!this.missed || isAfter(at, this.missed)) this.missed = at;
  }

  /**
   * Brings the copy up to the server's tail. Calls that come meanwhile share the one under way. A device that has nothing
   * begins with the lists where the tail is given: what they do not show yet comes after it.
   */
  sync(strict = false, tail?: StreamPosition): Promise<void> {
    this.syncing ??= this.pages(tail).finally(() => {
      this.syncing = undefined;
      this.deps.onChange();
    });
    return strict ? this.syncing : this.syncing.catch((err: unknown) => this.syncFailed(err));
  }

  private syncFailed(err: unknown): void {
    const e = asError(err);
    // Also where the server could not be reached: the connection may live on while calls fail, and nothing else would ask.
    if (this.stopped || e.code === "unauthenticated") return;
    clearTimeout(this.retryTimer);
    this.retryTimer = setTimeout(() => void this.sync(), Math.max(retrySyncMs, e.retryMs));
  }

  private async pages(tail: StreamPosition | undefined): Promise<void> {
    clearTimeout(this.retryTimer);
    // What comes after the lists is news also to a new device; a stream read from its start is not.
    const live = this.position !== undefined || tail !== undefined;
    if (!this.position) await (tail ? this.rebuild(tail, false) : this.begin());
    while (!this.stopped) {
      const at = this.position ?? { epoch: 0, seq: 0 };
      const page = await this.deps.api.sync({ after: { epoch: at.epoch, seq: BigInt(at.seq) }, limit: syncLimit });
      const next = { epoch: page.next?.epoch ?? 0, seq: Number(page.next?.seq ?? 0n) };
      if (page.reset) await this.rebuild(next);
      else this.takePage(page, next, live);
      if (page.more) continue;
      await this.reach(page);
      const { missed } = this;
      this.missed = undefined;
      if (!missed || (this.position && !isAfter(missed, this.position))) return;
    }
  }

  /** A device with nothing that does not know the tail begins at the stream's start. */
  private async begin(): Promise<void> {
    const page = await this.deps.api.sync({ after: { epoch: 0, seq: 0n }, limit: 1 });
    const next = { epoch: page.next?.epoch ?? 0, seq: Number(page.next?.seq ?? 0n) };
    if (page.reset) await this.rebuild(next);
    else this.takePage(page, next, false);
  }

  /** The stream is not whole from where we are: read the lists, and go on from next. */
  private async rebuild(next: StreamPosition, drop = true): Promise<void> {
    const ops: Op[] = [{ table: "conversations", key: "*" }, { table: "relations", key: "*" }];
    if (drop) ops.push({ table: "messages", key: "*" });
    const fresh: Conversation[] = [];
    for (let page = ""; ; ) {
      const list = await this.deps.api.listConversations({ limit: 200, page });
      fresh.push(...list.conversations);
      if (!(page = list.next)) break;
    }
    const relations: Relation[] = [];
    for (let page = ""; ; ) {
      const list = await this.deps.graph.listRelations({ limit: 200, page });
      relations.push(...list.relations.map(toRelation));
      if (!(page = list.next)) break;
    }
    this.relations.clear();
    for (const r of relations) {
      this.relations.set(r.user, r);
      ops.push({ table: "relations", key: r.user, value: r });
    }
    const known = new Map(this.conversations);
    this.conversations.clear();
    if (drop) for (const log of this.logs.values()) log.clear();
    this.ahead.clear();
    for (const c of fresh) {
      const v = mergeConversation(known.get(c.id), c);
      this.conversations.set(c.id, v);
      ops.push({ table: "conversations", key: c.id, value: v });
    }
    this.position = next;
    this.keep(ops);
    for (const id of this.opened) void this.fill(id);
  }

  private takePage(page: SyncResponse, next: StreamPosition, live: boolean): void {
    const ops: Op[] = [];
    for (const e of page.events) this.takeEvent(e, ops, live);
    this.position = next;
    this.keep(ops);
  }

  /** Large groups: how far each has come. */
  private async reach(page: SyncResponse): Promise<void> {
    const ops: Op[] = [];
    for (const l of page.large) {
      const c = this.conversations.get(l.conversation);
      if (!c || Number(l.lastSeq) > c.lastSeq) await this.refetch(l.conversation, ops);
      if (this.opened.has(l.conversation)) void this.fill(l.conversation);
    }
    this.keep(ops);
  }

  async catchUpLarge(): Promise<void> {
    if ([...this.conversations.values()].some((c) => c.large)) await this.sync();
  }

  private takeEvent(e: Event, ops: Op[], live: boolean): void {
    switch (e.body.case) {
      case "message":
        return this.takeMessage(toMessage(e.body.value), ops, live);
      case "conversation": {
        const s = e.body.value;
        return this.put(mergeState(this.view(s.conversation), s), ops);
      }
      case "mark": {
        const m = e.body.value;
        const c = this.view(m.conversation);
        return this.put({ ...c, peerDeliveredSeq: Math.max(c.peerDeliveredSeq, Number(m.deliveredSeq)), peerReadSeq: Math.max(c.peerReadSeq, Number(m.readSeq)) }, ops);
      }
      case "relation": {
        const r = toRelation(e.body.value);
        this.relations.set(r.user, r);
        ops.push({ table: "relations", key: r.user, value: r });
        return this.deps.onRelation();
      }
      case "profile":
        return this.deps.onProfile(e.body.value.user);
      case "joinRequests": {
        const { conversation, waiting, user } = e.body.value;
        return this.deps.onJoinRequests({ conversation, waiting, user });
      }
    }
  }

  private takeMessage(m: ChatMessage, ops: Op[], live: boolean): void {
    const was = this.view(m.conversation);
    const c = applyMessage(was, m, this.deps.me);
    const fresh = m.seq > was.streamSeq;
    this.put({ ...c, streamSeq: Math.max(c.streamSeq, m.seq) }, ops);
    ops.push({ table: "messages", key: messageKey(m), value: m });
    if (this.opened.has(m.conversation)) {
      this.log(m.conversation).add(m);
      if (m.seq > was.lastSeq + 1) void this.fill(m.conversation);
    }
    if (m.sender === this.deps.me) this.deps.ownStored(m);
    else if (m.content.kind.case !== "control") {
      if (!c.large) this.deps.marks.delivered(m.conversation, m.seq);
      if (live && fresh) this.deps.onMessage(m);
    }
    // Events alone do not tell all of a conversation; who joined one asks for it.
    const control = m.content.kind.case === "control";
    if (c.kind === 0 || (control && m.seq > was.stateSeq)) this.wantConversation(m.conversation);
  }

  /** A message of this device is stored: shown in its place at once. */
  sent(item: OutgoingMessage, as: StoredAs, device: string): void {
    const ops: Op[] = [];
    const m: ChatMessage = { conversation: item.conversation, seq: as.seq, id: as.id, sender: this.deps.me, device, clientSeq: item.clientSeq, timeMs: as.timeMs, counted: as.counted, content: item.content };
    this.put(applyMessage(this.view(m.conversation), m, this.deps.me), ops);
    ops.push({ table: "messages", key: messageKey(m), value: m });
    if (this.opened.has(m.conversation)) {
      this.log(m.conversation).add(m);
      void this.fill(m.conversation);
    }
    this.keep(ops);
  }

  // --- conversations ---

  private view(id: string): ConversationView {
    return this.conversations.get(id) ?? unknownConversation(id);
  }

  private put(c: ConversationView, ops: Op[]): void {
    this.conversations.set(c.id, c);
    ops.push({ table: "conversations", key: c.id, value: c });
  }

  /** Takes an answer that describes a conversation. */
  take(answer: Conversation): ConversationView {
    const ops: Op[] = [];
    this.put(mergeConversation(this.conversations.get(answer.id), answer), ops);
    this.keep(ops);
    return this.view(answer.id);
  }

  private async refetch(id: string, ops: Op[]): Promise<void> {
    try {
      this.put(mergeConversation(this.conversations.get(id), await this.deps.api.getConversation({ conversation: id })), ops);
    } catch (err) {
      if (isOffline(err)) throw err;
    }
  }

  private wantConversation(id: string): void {
    if (this.fetching.has(id)) return;
    this.fetching.add(id);
    setTimeout(() => {
      this.fetching.delete(id);
      if (this.stopped) return;
      const ops: Op[] = [];
      this.refetch(id, ops).then(
        () => this.keep(ops),
        () => {}, // offline: the next sync's events ask again, or the list does
      );
    }, 20);
  }

  takeRelation(r: RelationPb): void {
    const v = toRelation(r);
    this.relations.set(v.user, v);
    this.keep([{ table: "relations", key: v.user, value: v }]);
  }

  read(conversation: string, seq: number): void {
    const c = this.view(conversation);
    const to = Math.min(seq, c.lastSeq);
    if (to <= c.readSeq) return;
    const at = to === c.lastSeq ? c.lastCounted : (this.log(conversation).messages.find((m) => m.seq === to)?.counted ?? c.readCounted);
    const ops: Op[] = [];
    this.put({ ...c, readSeq: to, readCounted: Math.max(c.readCounted, at), readPending: true }, ops);
    this.deps.marks.read(conversation, to);
    this.keep(ops);
  }

  /** Sets at once here, and tells the server as soon as that is possible. */
  async configure(conversation: string, settings: PendingSettings): Promise<void> {
    const ops: Op[] = [];
    const c = this.view(conversation);
    this.put({ ...c, ...settings, pending: { ...c.pending, ...settings } }, ops);
    this.keep(ops);
    await this.tellSettings(conversation);
  }

  /** Tells what was set, or read, without a connection. */
  async flushSettings(): Promise<void> {
    for (const c of this.conversations.values()) {
      if (Object.keys(c.pending).length > 0) await this.tellSettings(c.id);
      if (c.readPending) this.deps.marks.read(c.id, c.readSeq);
    }
  }

  private async tellSettings(id: string): Promise<void> {
    const told = this.view(id).pending;
    try {
      const state = await this.deps.api.configure({ conversation: id, ...told });
      const c = this.view(id);
      const pending: PendingSettings = { ...c.pending };
      for (const k of Object.keys(told) as (keyof PendingSettings)[]) if (pending[k] === told[k]) delete pending[k];
      const ops: Op[] = [];
      this.put(mergeState({ ...c, pending }, state), ops);
      this.keep(ops);
    } catch (err) {
      if (isOffline(err)) return;
      const ops: Op[] = [];
      this.put({ ...this.view(id), pending: {} }, ops);
      this.keep(ops);
      throw err;
    }
  }

  // --- history ---

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
    }
    await this.fill(conversation);
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
    const log = this.log(conversation);
    const { lastSeq } = this.view(conversation);
    if (log.messages.length === 0 || lastSeq - log.last > 400) {
      log.clear();
      const page = await this.deps.api.history({ conversation, limit: pageMessages });
      return this.takeHistory(conversation, page.messages.map(toMessage));
    }
    for (let hole = log.hole(this.view(conversation).lastSeq); hole; hole = log.hole(this.view(conversation).lastSeq)) {
      const page = await this.deps.api.history({ conversation, after: BigInt(hole.first - 1), limit: 200 });
      const messages = page.messages.map(toMessage);
      this.takeHistory(conversation, messages);
      const reached = Math.max(messages.at(-1)?.seq ?? 0, Number(page.unreadable.at(-1) ?? 0)) || hole.last;
      log.void(hole.first, Math.min(hole.last, page.more ? reached : hole.last));
    }
  }

  private takeHistory(conversation: string, messages: ChatMessage[]): void {
    const log = this.log(conversation);
    const ops: Op[] = [];
    const first = messages[0];
    if (first) log.extend(log.from === 0 ? first.seq : Math.min(first.seq, log.from));
    for (const m of messages) {
      log.add(m);
      ops.push({ table: "messages", key: messageKey(m), value: m });
    }
    this.keep(ops);
  }

  async older(conversation: string): Promise<boolean> {
    const log = this.log(conversation);
    const c = this.view(conversation);
    if (log.from === 0 || log.from <= Math.max(1, c.joinSeq)) return false;
    const kept = await this.keptBefore(conversation, log.from);
    if (kept.length > 0) {
      this.takeHistory(conversation, kept);
      return log.from > Math.max(1, c.joinSeq);
    }
    const page = await this.pageBefore(conversation, log.from);
    this.takeHistory(conversation, page.messages.map(toMessage));
    if (page.more) this.fetchAhead(conversation, log.from);
    else this.ahead.delete(conversation);
    return page.more;
  }

  /** What the device has right before a seq, without a hole, in rising order. */
  private async keptBefore(conversation: string, seq: number): Promise<ChatMessage[]> {
    await this.writing;
    const stored = await this.deps.store.list<ChatMessage>("messages", { lower: `${conversation}/`, upper: messageKey({ conversation, seq }), reverse: true, limit: pageMessages });
    const kept = this.unexpired(conversation, stored);
    const hole = kept.findIndex((m, i) => m.seq !== seq - 1 - i);
    return (hole < 0 ? kept : kept.slice(0, hole)).reverse();
  }

  /** Of stored messages, the newest first, those that have not expired. What has goes from the device, with all before it. */
  private unexpired(conversation: string, stored: ChatMessage[]): ChatMessage[] {
    const { keptDays } = this.view(conversation);
    const cut = Date.now() - keptDays * dayMs;
    const old = keptDays === 0 ? -1 : stored.findIndex((m) => m.timeMs < cut);
    if (old < 0) return stored;
    this.keep([{ table: "messages", key: `${conversation}/`, upper: messageKey({ conversation, seq: stored[old]!.seq + 1 }) }]);
    return stored.slice(0, old);
  }

  private pageBefore(conversation: string, before: number): Promise<HistoryResponse> {
    const ready = this.ahead.get(conversation);
    if (ready?.before === before) return ready.page;
    return this.deps.api.history({ conversation, before: BigInt(before), limit: pageMessages });
  }

  /** Who scrolls back goes on scrolling: the next page is fetched while this one is read. */
  private fetchAhead(conversation: string, before: number): void {
    const page = this.deps.api.history({ conversation, before: BigInt(before), limit: pageMessages });
    this.ahead.set(conversation, { before, page });
    page.catch(() => {
      if (this.ahead.get(conversation)?.page === page) this.ahead.delete(conversation);
    });
  }

  // --- storage ---

  /** Stores changes together with the position that they lead to. */
  private keep(ops: Op[]): void {
    this.deps.onChange();
    if (this.stopped || !this.deps.leads()) return;
    if (this.position) {
      ops.push({ table: "meta", key: positionKey, value: this.position });
      const at = this.position;
      this.writing = this.writing
        .then(() => this.deps.store.write(ops))
        .then(
          () => this.deps.marks.acknowledge(at),
          (err: unknown) => console.warn("rialto: the device could not store", err),
        );
      return;
    }
    this.writing = this.writing.then(() => this.deps.store.write(ops)).catch((err: unknown) => console.warn("rialto: the device could not store", err));
  }
}

function messageKey(m: { conversation: string; seq: number }): string {
  return `${m.conversation}/${numberKey(m.seq)}`;
}
