import { inBackground } from "./background.js";
import { isOffline, isRefused } from "./errors.js";
import type { Conversation } from "./gen/rialto/chat/v1/chat_pb.js";
import type { History } from "./history.js";
import type { LocalData, ReplicaDeps } from "./localdata.js";
import { mentionsAfter, mergeConversation, mergeState, recalledAfter, withDeletion, withoutMessage } from "./merge.js";
import { isShown, type ConversationView, type PendingSettings } from "./model.js";
import type { Op } from "./storage.js";

/** Events that name the same conversation within this time cause one call. */
const fetchAfterMs = 20;
/** Within this time, at random, what grows without being shown is fetched. */
const sometimeMs = 60_000;
/** When what could not be told is told again. */
const retryMs = 2_000;
/** So many messages one call deletes. */
const deletesAtOnce = 100;

/** Conversations fetches conversations, and changes the user's own part of them: read cursors and settings. */
export class Conversations {
  private readonly fetching = new Set<string>();
  private readonly fetchingSometime = new Set<string>();
  private retryTimer: ReturnType<typeof setTimeout> | undefined;

  private isWhole = false;

  constructor(
    private readonly data: LocalData,
    private readonly deps: Pick<ReplicaDeps, "api" | "marks" | "me">,
    private readonly history: Pick<History, "loaded" | "dropBelow" | "forget" | "remove" | "grown">,
  ) {}

  /** The stream is known up to its end since the last connection began: the seqs that are known here are those that the server means. */
  get whole(): boolean {
    return this.isWhole;
  }

  /** Takes an answer that describes a conversation. */
  take(answer: Conversation): ConversationView {
    const ops: Op[] = [];
    this.data.put(mergeConversation(this.data.conversations.get(answer.id), answer), ops);
    this.data.keep(ops);
    return this.data.view(answer.id);
  }

  async refetch(id: string, ops: Op[]): Promise<void> {
    try {
      const answer = await this.deps.api.getConversation({ conversation: id });
      this.data.put(mergeConversation(this.data.conversations.get(id), answer), ops); // what is here may have changed meanwhile
    } catch (err) {
      if (isOffline(err)) throw err;
      // The user may not read it any more, and nothing is known of it that could be shown.
      if (this.data.conversations.get(id)?.kind === 0 && isRefused(err)) this.forget(id, ops);
    }
  }

  /** Fetches a conversation soon. */
  want(id: string): void {
    this.fetchIn(fetchAfterMs, id, this.fetching);
  }

  /** Fetches those of which only the stream has told: the fetch failed, or the page was closed before. */
  wantUnknown(): void {
    for (const c of this.data.conversations.values()) if (c.kind === 0) this.want(c.id);
  }

  /** Fetches a conversation some time later: many devices are told at once that it has grown. */
  wantSometime(id: string): void {
    this.fetchIn(Math.random() * sometimeMs, id, this.fetchingSometime);
  }

  private fetchIn(ms: number, id: string, waiting: Set<string>): void {
    if (waiting.has(id)) return;
    waiting.add(id);
    setTimeout(() => {
      waiting.delete(id);
      if (this.data.stopped) return;
      const ops: Op[] = [];
      this.refetch(id, ops).then(
        () => {
          this.data.keep(ops);
          this.history.grown(id);
        },
        () => {}, // offline: the next sync's events ask again, or the list does
      );
    }, ms);
  }

  /** Drops a channel that the user no longer follows, and its messages. */
  forget(id: string, ops?: Op[]): void {
    const dropped = ops ?? [];
    this.data.drop(id, dropped);
    this.history.forget(id);
    if (!ops) this.data.keep(dropped);
  }

  /** Drops the threads of a conversation that the user is not in any more. */
  forgetThreads(parent: string, ops: Op[]): void {
    for (const c of this.data.conversations.values()) if (c.parent === parent) this.forget(c.id, ops);
  }

  read(conversation: string, seq: number): void {
    const c = this.data.view(conversation);
    const to = Math.min(seq, c.lastSeq);
    if (to <= c.readSeq) return;
    const { markedUnread: _, ...pending } = c.pending; // reading clears it, on the server, too
    const at = to === c.lastSeq ? c.lastCounted : (this.history.loaded(conversation).find((m) => m.seq === to)?.counted ?? c.readCounted);
    const ops: Op[] = [];
    this.data.put({ ...c, readSeq: to, readCounted: Math.max(c.readCounted, at), recalled: recalledAfter(c, to), mentions: mentionsAfter(c, to), readPending: true, markedUnread: false, pending }, ops);
    this.deps.marks.read(conversation, to);
    this.data.keep(ops);
  }

  /** Sets at once here, and tells the server as soon as that is possible. */
  async configure(conversation: string, settings: PendingSettings): Promise<void> {
    const ops: Op[] = [];
    const c = this.data.view(conversation);
    this.data.put({ ...c, ...settings, pending: { ...c.pending, ...settings } }, ops);
    this.data.keep(ops);
    await this.tellSettings(conversation);
  }

  /** What the user deleted, here or on another device. */
  deleted(conversation: string, d: { through: number; counted: number; deleted: boolean }, ops: Op[]): void {
    const c = withDeletion(this.data.view(conversation), d);
    this.data.put(c, ops);
    this.history.dropBelow(conversation, c.joinSeq, ops);
  }

  /** Clears the history, up to a seq where one is given, at once here, and tells the server as soon as that is possible. */
  async clear(conversation: string, andDelete: boolean, upTo = Infinity): Promise<void> {
    const c = this.data.view(conversation);
    const through = Math.max(Math.min(upTo, Math.max(c.lastSeq, c.streamSeq)), c.joinSeq - 1);
    const counted = through >= c.lastSeq ? c.lastCounted : (this.history.loaded(conversation).findLast((m) => m.seq <= through)?.counted ?? c.readCounted);
    const ops: Op[] = [];
    this.data.put({ ...c, pendingClear: { through, delete: andDelete || (c.pendingClear?.delete ?? false) } }, ops);
    this.deleted(conversation, { through, counted, deleted: andDelete }, ops);
    this.data.keep(ops);
    await this.tellClear(conversation);
  }

  /** Messages that the user deleted, here or on another device. */
  messagesDeleted(conversation: string, seqs: readonly number[], ops: Op[]): void {
    const before = this.data.view(conversation);
    let c = before;
    for (const seq of seqs) {
      if (this.data.isDeleted({ conversation, seq })) continue; // it is known: nothing is counted twice
      this.data.noteDeleted({ conversation, seq });
      const was = this.history.remove(conversation, seq, ops) ?? (c.lastMessage?.seq === seq ? c.lastMessage : undefined);
      c = withoutMessage(c, seq, was?.sender === this.deps.me, this.history.loaded(conversation).findLast(isShown));
    }
    this.data.put(c, ops);
    if (!c.lastMessage && before.lastMessage) this.want(conversation); // what the list shows now is not loaded
  }

  /** Deletes messages at once here, and tells the server as soon as that is possible. */
  async deleteMessages(conversation: string, seqs: readonly number[]): Promise<void> {
    const ops: Op[] = [];
    this.messagesDeleted(conversation, seqs, ops);
    const c = this.data.view(conversation);
    this.data.put({ ...c, pendingDeletes: [...new Set([...(c.pendingDeletes ?? []), ...seqs])] }, ops);
    this.data.keep(ops);
    await this.tellDeletes(conversation);
  }

  private async tellDeletes(id: string): Promise<void> {
    for (let told = this.data.view(id).pendingDeletes?.slice(0, deletesAtOnce); told && told.length > 0; told = this.data.view(id).pendingDeletes?.slice(0, deletesAtOnce)) {
      let refusal: unknown;
      try {
        await this.deps.api.deleteMessages({ conversation: id, seqs: told.map(BigInt) });
      } catch (err) {
        if (isOffline(err)) return this.retry();
        refusal = err;
      }
      const ops: Op[] = [];
      const { pendingDeletes, ...c } = this.data.view(id);
      const rest = pendingDeletes?.filter((seq) => !told?.includes(seq)) ?? [];
      this.data.put({ ...c, ...(rest.length > 0 ? { pendingDeletes: rest } : {}) }, ops);
      this.data.keep(ops);
      if (refusal) throw refusal;
    }
  }

  private async tellClear(id: string): Promise<void> {
    const told = this.data.view(id).pendingClear;
    if (!told) return;
    const ops: Op[] = [];
    const done = () => {
      const { pendingClear, ...c } = this.data.view(id);
      this.data.put(pendingClear && pendingClear !== told ? { ...c, pendingClear } : c, ops);
    };
    try {
      const d = await this.deps.api.clearHistory({ conversation: id, throughSeq: BigInt(told.through), delete: told.delete });
      done();
      this.deleted(id, { through: Number(d.throughSeq), counted: Number(d.throughCounted), deleted: d.deleted }, ops);
      this.data.keep(ops);
    } catch (err) {
      if (isOffline(err)) return this.retry();
      done();
      this.data.keep(ops);
      this.want(id); // it shows what is there
      throw err;
    }
  }

  stop(): void {
    clearTimeout(this.retryTimer);
  }

  /** Tells again soon: the connection may live on while calls fail, and nothing else would. */
  private retry(): void {
    clearTimeout(this.retryTimer);
    if (!this.data.stopped) this.retryTimer = setTimeout(() => inBackground(this.flush()), retryMs);
  }

  /** A connection is open: what waits is not told before the stream says whether its seqs still mean the same messages. */
  opened(): void {
    this.isWhole = false;
  }

  /** The stream is here up to its end. */
  synced(): void {
    if (this.isWhole) return;
    this.isWhole = true;
    this.deps.marks.flush();
    inBackground(this.flush());
  }

  /** Tells what was set, deleted, or read, without a connection. */
  async flush(): Promise<void> {
    if (!this.isWhole) return;
    for (const c of this.data.conversations.values()) {
      if (c.pendingClear) await this.tellClear(c.id);
      if (c.pendingDeletes) await this.tellDeletes(c.id);
      if (Object.keys(c.pending).length > 0) await this.tellSettings(c.id);
      if (c.readPending) this.deps.marks.read(c.id, c.readSeq);
    }
  }

  private async tellSettings(id: string): Promise<void> {
    const told = this.data.view(id).pending;
    const ops: Op[] = [];
    try {
      const state = await this.deps.api.configure({ conversation: id, ...told });
      const c = this.data.view(id);
      const pending: PendingSettings = { ...c.pending };
      for (const k of Object.keys(told) as (keyof PendingSettings)[]) if (pending[k] === told[k]) delete pending[k];
      this.data.put(mergeState({ ...c, pending }, state), ops);
      this.data.keep(ops);
    } catch (err) {
      if (isOffline(err)) return this.retry();
      this.data.put({ ...this.data.view(id), pending: {} }, ops);
      this.data.keep(ops);
      throw err;
    }
  }
}
