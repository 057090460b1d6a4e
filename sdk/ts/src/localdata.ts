import type { Ticket } from "./gen/rialto/chat/v1/helpdesk_pb.js";
import type { ServiceClient } from "./api.js";
import type { ChatService } from "./gen/rialto/chat/v1/chat_pb.js";
import type { Content } from "./gen/rialto/chat/v1/message_pb.js";
import type { GraphService } from "./gen/rialto/account/v1/account_pb.js";
import type { Marks } from "./marks.js";
import { unknownConversation, withText, type ChatMessage, type ConversationView, type IsSame, type JoinRequests, type Reference, type Relation } from "./model.js";
import type { StreamPosition } from "./position.js";
import { numberKey, type Op, type Store } from "./storage.js";

export interface ReplicaDeps {
  me: string;
  store: Store;
  marks: Marks;
  api: ServiceClient<typeof ChatService>;
  graph: ServiceClient<typeof GraphService>;
  onChange: () => void;
  onMessage: (m: ChatMessage) => void;
  /** A message was edited, or recalled: then it has no content. */
  onUpdated: (u: { conversation: string; seq: number; content: Content | undefined }) => void;
  onRelation: () => void;
  onProfile: (user: string) => void;
  onSettings: () => void;
  /** Events of the stream are missing, perhaps those that say that something changed. known: the device had a position before. */
  onReset: (known: boolean) => void;
  /** The stream is here up to its end. */
  onSynced: () => void;
  /** The messages that unsent ones name by their seqs. */
  unsentReferences: () => readonly Reference[];
  /** After a reset, before it is stored: which of them are still the same on the server. */
  dropLost: (isSame: IsSame) => Promise<void>;
  onJoinRequests: (r: JoinRequests) => void;
  onFolders: () => void;
  onTicket: (ticket: Ticket) => void;
  /** The invitations of this user changed: those to an organization, or to groups if that is "0". */
  onInvitations: (organization: string) => void;
  /** The stream brought a message of this user. */
  ownStored: (m: ChatMessage) => void;
  /** A push brought a message that was stored at this time. */
  onPushed: (timeMs: number) => void;
  now: () => number;
  /** Whether this window stores the stream. One of several windows does. */
  isLeader: () => boolean;
}

const positionKey = "position";

/**
 * LocalData is the device's copy of conversations, relations and the stream's position, in memory and in the store. The parts of
 * the replica change it: each change goes into memory at once, and with keep into the store.
 */
export class LocalData {
  readonly conversations = new Map<string, ConversationView>();
  readonly relations = new Map<string, Relation>();
  position: StreamPosition | undefined;
  /** Set once the user has left: nothing is stored from then on. */
  stopped = false;
  private writing: Promise<void> = Promise.resolve();
  /** What waits for the write that is under way. */
  private waiting: { ops: Op[]; at: StreamPosition | undefined } | undefined;
  /** Keys of messages that were deleted since the start: an answer that was on its way may still have them. */
  private readonly deleted = new Set<string>();

  constructor(private readonly deps: Pick<ReplicaDeps, "store" | "marks" | "onChange" | "isLeader">) {}

  async load(): Promise<void> {
    const { store } = this.deps;
    this.position = await store.get<StreamPosition>("meta", positionKey);
    for (const c of await store.list<ConversationView>("conversations")) this.conversations.set(c.id, c.lastMessage ? { ...c, lastMessage: withText(c.lastMessage) } : c);
    for (const r of await store.list<Relation>("relations")) this.relations.set(r.user, r);
  }

  /** Resolves when all changes so far are stored. */
  written(): Promise<void> {
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

  /** After a reset: the keys may be those of other messages. */
  forgetDeleted(): void {
    this.deleted.clear();
  }

  noteDeleted(m: { conversation: string; seq: number }): void {
    this.deleted.add(messageKey(m));
  }

  /** Whether the user deleted a message, as far as this device can know without asking. */
  isDeleted(m: { conversation: string; seq: number }): boolean {
    return this.deleted.has(messageKey(m)) || (this.conversations.get(m.conversation)?.pendingDeletes?.includes(m.seq) ?? false);
  }

  /** A conversation as far as it is known. */
  view(id: string): ConversationView {
    return this.conversations.get(id) ?? unknownConversation(id);
  }

  put(c: ConversationView, ops: Op[]): void {
    this.conversations.set(c.id, c);
    ops.push({ table: "conversations", key: c.id, value: c });
  }

  /** Forgets a conversation and its messages. */
  drop(id: string, ops: Op[]): void {
    this.conversations.delete(id);
    ops.push({ table: "conversations", key: id }, { table: "messages", key: `${id}/`, upper: `${id}0` });
  }

  putRelation(r: Relation, ops: Op[]): void {
    this.relations.set(r.user, r);
    ops.push({ table: "relations", key: r.user, value: r });
  }

  /** Stores changes together with the position that they lead to, so that a crash of the page repeats events and never skips one. */
  keep(ops: Op[]): void {
    this.deps.onChange();
    if (this.stopped || !this.deps.isLeader()) return;
    // What was put before a wait may have changed since: the store gets what is here now.
    for (const op of ops) if (op.table === "conversations" && op.value) op.value = this.conversations.get(op.key);
    const at = this.position;
    if (at) ops.push({ table: "meta", key: positionKey, value: at });
    if (this.waiting) { // a burst of events is stored in a few transactions
      for (const op of ops) this.waiting.ops.push(op);
      this.waiting.at = at;
      return;
    }
    const batch = (this.waiting = { ops, at });
    this.writing = this.writing
      .then(() => {
        this.waiting = undefined;
        return this.deps.store.write(batch.ops);
      })
      .then(
        () => batch.at && this.deps.marks.acknowledge(batch.at),
        (err: unknown) => console.warn("rialto: the device could not store", err),
      );
  }
}

/** The key of a message in the store: in the order of seqs within a conversation. */
export function messageKey(m: { conversation: string; seq: number }): string {
  return `${m.conversation}/${numberKey(m.seq)}`;
}
