import type { Conversations } from "./conversations.js";
import { asError } from "./errors.js";
import type { Events } from "./events.js";
import type { Conversation, Event, LargeTail, SyncResponse } from "./gen/rialto/chat/v1/chat_pb.js";
import type { History } from "./history.js";
import type { LocalData, ReplicaDeps } from "./localdata.js";
import { mergeConversation, unconfirmedPart } from "./merge.js";
import { toMessage, toRelation, type Relation } from "./model.js";
import { classifyEvent, isAfter, samePosition, type StreamPosition } from "./position.js";
import { compareWaiting } from "./references.js";
import type { Op } from "./storage.js";

const syncLimit = 1_000;
const listLimit = 200;
/** Large groups of which a long poll may name how far they are. */
const mostLarge = 500;
const retrySyncMs = 2_000;

/** Sync follows the user's stream: pushes in order, and pages from the server where one is missing and after each reconnect. */
export class Sync {
  private running: Promise<void> | undefined;
  /** The newest pushed event that arrived during a sync and was left to it. */
  private missed: StreamPosition | undefined;
  /** A sync was requested during another one, whose page may be older than the request. */
  private again = false;
  private retryTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly data: LocalData,
    private readonly events: Events,
    private readonly history: History,
    private readonly conversations: Conversations,
    private readonly deps: Pick<ReplicaDeps, "api" | "graph" | "store" | "marks" | "onChange" | "onPushed" | "onReset" | "onSynced" | "unsentReferences" | "dropLost">,
  ) {}

  /** Catches up after a reconnect, when the newest event of the stream is at tail. */
  async reconnected(tail: StreamPosition): Promise<void> {
    const { position } = this.data;
    if (!position || !samePosition(position, tail)) return this.sync(false, tail.epoch > 0 ? tail : undefined);
    if ([...this.data.conversations.values()].some((c) => c.large)) return this.sync(); // the stream does not have all of their messages
    this.deps.onSynced();
  }

  /** Whether a sync is running. */
  get catchingUp(): boolean {
    return this.running !== undefined;
  }

  stop(): void {
    clearTimeout(this.retryTimer);
  }

  /** Takes pushed events. One that does not follow what is here is left to a sync. */
  pushed(events: readonly Event[]): void {
    const ops: Op[] = [];
    for (const e of events) {
      const at = { epoch: e.epoch, seq: Number(e.seq) };
      if (e.body.case === "message") this.deps.onPushed(Number(e.body.value.timeMs));
      if (at.seq === 0) {
        // A message of a large group: its place is that in the conversation.
        if (e.body.case === "message") this.events.applyMessage(toMessage(e.body.value), ops, true);
        continue;
      }
      if (this.running) {
        this.miss(at);
        continue;
      }
      const order = classifyEvent(this.data.position, { ...at, prev: Number(e.prev) });
      if (order === "old") continue;
      if (order === "gap") {
        this.miss(at);
        void this.sync();
        continue;
      }
      this.events.apply(e, ops, true);
      this.data.position = at;
    }
    this.data.keep(ops);
  }

  private miss(at: StreamPosition): void {
    if (!this.missed || isAfter(at, this.missed)) this.missed = at;
  }

  /**
   * Catches up with the server. Calls during a sync share it, and it then reads one page more: its page may be older than the
   * events that caused those calls. A new device reads the lists first and starts from the position that they name.
   */
  sync(strict = false, tail?: StreamPosition): Promise<void> {
    if (this.running) this.again = true;
    this.running ??= this.pages(tail).finally(() => {
      this.running = undefined;
      this.deps.onChange();
    });
    return strict ? this.running : this.running.catch((err: unknown) => this.failed(err));
  }

  /** Waits until the server has something after the position, and takes it: a long poll. Tells whether something was new. */
  async wait(waitMs: number, signal: AbortSignal): Promise<boolean> {
    const { position } = this.data;
    if (!position || this.running) {
      await this.sync(true);
      return true;
    }
    const large = [...this.data.conversations.values()].filter((c) => c.large).slice(0, mostLarge);
    const page = await this.deps.api.sync(
      {
        after: { epoch: position.epoch, seq: BigInt(position.seq) },
        limit: syncLimit,
        waitMs,
        large: large.map((c) => ({ conversation: c.id, lastSeq: BigInt(c.lastSeq) })),
      },
      { signal, waitMs },
    );
    if (this.running || this.data.stopped || !samePosition(this.data.position, position)) return true; // a sync overtook the answer
    if (page.reset || page.more) {
      await this.sync(true);
      return true;
    }
    this.take(page, true);
    const grown = page.large.some((l) => Number(l.lastSeq) > (this.data.conversations.get(l.conversation)?.lastSeq ?? 0));
    await this.reach(page);
    return grown || page.events.length > 0;
  }

  private failed(err: unknown): void {
    const e = asError(err);
    // Also where the server could not be reached: the connection may live on while calls fail, and nothing else would ask.
    if (this.data.stopped || e.code === "unauthenticated") return;
    clearTimeout(this.retryTimer);
    this.retryTimer = setTimeout(() => void this.sync(), Math.max(retrySyncMs, e.retryMs));
  }

  private async pages(tail: StreamPosition | undefined): Promise<void> {
    clearTimeout(this.retryTimer);
    // What comes after the lists is news also to a new device; a stream read from its start is not.
    const live = this.data.position !== undefined || tail !== undefined;
    if (!this.data.position) await (tail ? this.rebuild(tail, false) : this.begin());
    while (!this.data.stopped) {
      this.again = false;
      const page = await this.page(this.data.position ?? { epoch: 0, seq: 0 }, syncLimit, live);
      if (page.more) continue;
      await this.reach(page);
      const { missed } = this;
      this.missed = undefined;
      if (this.again) continue;
      if (!missed || (this.data.position && !isAfter(missed, this.data.position))) return this.deps.onSynced();
    }
  }

  /** A device with nothing that does not know the tail begins at the stream's start. */
  private async begin(): Promise<void> {
    await this.page({ epoch: 0, seq: 0 }, 1, false);
  }

  /** Reads and applies a page. */
  private async page(after: StreamPosition, limit: number, live: boolean): Promise<SyncResponse> {
    const page = await this.deps.api.sync({ after: { epoch: after.epoch, seq: BigInt(after.seq) }, limit });
    const next = { epoch: page.next?.epoch ?? 0, seq: Number(page.next?.seq ?? 0n) };
    if (page.reset) {
      await this.rebuild(next);
      this.deps.onReset(after.epoch > 0);
      return page;
    }
    this.take(page, live);
    return page;
  }

  /** Applies a page that goes on from the position. */
  private take(page: SyncResponse, live: boolean): void {
    const ops: Op[] = [];
    for (const e of page.events) this.events.apply(e, ops, live);
    this.data.position = { epoch: page.next?.epoch ?? 0, seq: Number(page.next?.seq ?? 0n) };
    this.data.keep(ops);
  }

  /** The stream is not whole from where we are: read the lists, and go on from next. */
  private async rebuild(next: StreamPosition, drop = true): Promise<void> {
    const ops: Op[] = [{ table: "conversations", key: "*" }, { table: "relations", key: "*" }];
    if (drop) ops.push({ table: "messages", key: "*" });
    const conversations = await this.listConversations();
    const relations = await this.listRelations();
    const isSame = drop ? await compareWaiting(this.data, this.history, this.deps) : () => true;
    if (drop) {
      await this.deps.dropLost(isSame);
      this.deps.marks.forget(); // those of which the server still has the messages are in the list below
      this.data.forgetDeleted();
    }
    this.data.relations.clear();
    for (const r of relations) this.data.putRelation(r, ops);
    const known = new Map(this.data.conversations);
    this.data.conversations.clear();
    this.history.reset(drop);
    for (const c of conversations) {
      const view = mergeConversation(drop ? unconfirmedPart(known.get(c.id), c, isSame) : known.get(c.id), c);
      this.data.put({ ...view, deleted: view.pendingClear?.delete ?? false }, ops); // the list has none that are deleted
    }
    this.data.position = next;
    this.data.keep(ops);
    this.history.fillOpened();
  }

  /** Conversations, and the threads that the user follows. */
  private async listConversations(): Promise<Conversation[]> {
    const all: Conversation[] = [];
    for (let page = ""; ; ) {
      const list = await this.deps.api.listConversations({ limit: listLimit, page });
      all.push(...list.conversations);
      if (!(page = list.next)) break;
    }
    for (let page = ""; ; ) {
      const list = await this.deps.api.listThreads({ limit: listLimit, page });
      all.push(...list.threads);
      if (!(page = list.next)) return all;
    }
  }

  private async listRelations(): Promise<Relation[]> {
    const all: Relation[] = [];
    for (let page = ""; ; ) {
      const list = await this.deps.graph.listRelations({ limit: listLimit, page });
      all.push(...list.relations.map(toRelation));
      if (!(page = list.next)) return all;
    }
  }

  /** Large groups: how far each has come. */
  private async reach(page: SyncResponse): Promise<void> {
    const ops: Op[] = [];
    for (const l of page.large) {
      const c = this.data.conversations.get(l.conversation);
      if (!c || Number(l.lastSeq) > c.lastSeq) await this.conversations.refetch(l.conversation, ops);
      this.history.grown(l.conversation);
    }
    this.data.keep(ops);
  }

  /** A large group has more messages than are pushed: one that is shown is read, of others the list is brought up to date some time later. */
  grown(l: LargeTail): void {
    const c = this.data.conversations.get(l.conversation);
    if (!c || Number(l.lastSeq) <= c.lastSeq) return;
    if (this.history.isOpen(l.conversation)) this.conversations.want(l.conversation);
    else this.conversations.wantSometime(l.conversation);
  }
}
