import type { Conversations } from "./conversations.js";
import type { Event } from "./gen/rialto/chat/v1/chat_pb.js";
import { Role } from "./gen/rialto/chat/v1/message_pb.js";
import type { ThreadUpdate } from "./gen/rialto/gateway/v1/gateway_pb.js";
import type { History } from "./history.js";
import { messageKey, type LocalData, type ReplicaDeps } from "./localdata.js";
import { mentionsUser } from "./mentions.js";
import { applyMessage, mergeState, withMention } from "./merge.js";
import { isUpdate, toMessage, toRelation, toThread, type ChatMessage, type ConversationView, type OutgoingMessage } from "./model.js";
import type { StoredAs } from "./outbox.js";
import type { Op } from "./storage.js";
import { applyUpdate, targetOf } from "./updates.js";

/** Events applies the stream's events to the device's data. What decides which event is the next one is Sync. */
export class Events {
  constructor(
    private readonly data: LocalData,
    private readonly history: History,
    private readonly conversations: Conversations,
    private readonly deps: ReplicaDeps,
  ) {}

  /** live: it is news, and not the past that a new device reads. */
  apply(e: Event, ops: Op[], live: boolean): void {
    switch (e.body.case) {
      case "message":
        return this.applyMessage(toMessage(e.body.value), ops, live);
      case "conversation": {
        const s = e.body.value;
        const known = this.data.conversations.has(s.conversation);
        this.data.put(mergeState(this.data.view(s.conversation), s), ops);
        return known ? undefined : this.conversations.want(s.conversation); // it was imported: no message of it was pushed
      }
      case "mark": {
        const m = e.body.value;
        const c = this.data.view(m.conversation);
        return this.data.put({ ...c, peerDeliveredSeq: Math.max(c.peerDeliveredSeq, Number(m.deliveredSeq)), peerReadSeq: Math.max(c.peerReadSeq, Number(m.readSeq)) }, ops);
      }
      case "relation":
        this.data.putRelation(toRelation(e.body.value), ops);
        return this.deps.onRelation();
      case "profile":
        return this.deps.onProfile(e.body.value.user);
      case "settings":
        return this.deps.onSettings();
      case "follow": {
        const { conversation, follows } = e.body.value;
        if (!follows) return this.conversations.forget(conversation, ops);
        if (!this.data.conversations.has(conversation)) this.data.put(this.data.view(conversation), ops); // where it cannot be read now, the next connection reads it
        return this.conversations.want(conversation);
      }
      case "deletion": {
        const { conversation, throughSeq, throughCounted, deleted, seqs } = e.body.value;
        if (seqs.length > 0) return this.conversations.messagesDeleted(conversation, seqs.map(Number), ops);
        return this.conversations.deleted(conversation, { through: Number(throughSeq), counted: Number(throughCounted), deleted }, ops);
      }
      case "ticket":
        return this.deps.onTicket(e.body.value);
      case "folders":
        return this.deps.onFolders();
      case "invitations":
        return this.deps.onInvitations(e.body.value.organization);
      case "joinRequests": {
        const { conversation, waiting, user } = e.body.value;
        return this.deps.onJoinRequests({ conversation, waiting, user });
      }
    }
  }

  applyMessage(m: ChatMessage, ops: Op[], live: boolean): void {
    const was = this.data.view(m.conversation);
    if (m.seq < was.joinSeq || this.data.isDeleted(m)) return m.sender === this.deps.me ? this.deps.ownStored(m) : undefined; // it was cleared, or has expired
    const c = applyMessage(was, m, this.deps.me);
    const fresh = m.seq > was.streamSeq;
    if (c.leaveSeq !== 0 && was.leaveSeq === 0) this.conversations.forgetThreads(c.id, ops);
    this.data.put({ ...c, streamSeq: Math.max(c.streamSeq, m.seq) }, ops);
    ops.push({ table: "messages", key: messageKey(m), value: m });
    this.history.add(m, m.seq > was.lastSeq + 1);
    if (isUpdate(m.content)) this.update(m, fresh, ops);
    if (m.sender === this.deps.me) this.deps.ownStored(m);
    else if (isUpdate(m.content)) {
      if (!c.large) this.deps.marks.delivered(m.conversation, m.seq);
    } else if (m.content.kind.case !== "control") {
      if (!c.large) this.deps.marks.delivered(m.conversation, m.seq);
      if (live && fresh && !m.recallSeq) this.deps.onMessage(m);
    }
    // Events alone do not tell all of a conversation; who joined one asks for it.
    const control = m.content.kind.case === "control";
    if (c.kind === 0 || (control && m.seq > was.stateSeq)) this.conversations.want(m.conversation);
  }

  /** Applies an update to its target. Where that is not loaded, the device forgets its copy: the server has the present one. */
  private update(m: ChatMessage, fresh: boolean, ops: Op[]): void {
    const seq = targetOf(m.content);
    const { kind } = m.content;
    const content = kind.case === "edit" ? kind.value.content : undefined; // an edit without content was replaced by a later one
    if (content || kind.case === "recall") this.deps.onUpdated({ conversation: m.conversation, seq, content });
    const apply = (target: ChatMessage) => applyUpdate(target, m.content, m, this.deps.me);
    const c = this.data.view(m.conversation);
    const deleted = this.data.isDeleted({ conversation: m.conversation, seq }); // by this user: it is not unread
    const recalls = fresh && !deleted && m.content.kind.case === "recall" && seq > c.readSeq;
    const last = c.lastMessage?.seq === seq ? apply(c.lastMessage) : c.lastMessage;
    const mentioned = deleted ? c : this.withMentions(c, m, seq);
    if (recalls || last !== c.lastMessage || mentioned !== c) this.data.put({ ...mentioned, ...(last ? { lastMessage: last } : {}), recalled: (c.recalled ?? 0) + (recalls ? 1 : 0) }, ops);
    if (this.history.change(m.conversation, seq, apply, ops)) return;
    const key = messageKey({ conversation: m.conversation, seq });
    const put = ops.findLast((o) => o.table === "messages" && o.key === key); // it came in the same page
    ops.push(put?.value ? { ...put, value: apply(put.value as ChatMessage) } : { table: "messages", key });
  }

  /** The replies of the thread under a message changed. One who reads a thread without following it learns of them here only. */
  threadChanged(u: ThreadUpdate): void {
    if (!u.thread) return;
    const thread = toThread(u.thread);
    const ops: Op[] = [];
    this.history.change(u.conversation, Number(u.seq), (m) => ({ ...m, thread }), ops);
    this.data.keep(ops);
    const c = this.data.conversations.get(thread.conversation);
    if (c && c.role === Role.UNSPECIFIED && this.history.isOpen(c.id)) this.conversations.want(c.id);
  }

  /** An edit has mentions of its own, and a recalled message has none. */
  private withMentions(c: ConversationView, update: ChatMessage, seq: number): ConversationView {
    const { kind } = update.content;
    if (kind.case === "recall") return withMention(c, seq, false);
    return kind.case === "edit" && kind.value.content && update.sender !== this.deps.me ? withMention(c, seq, mentionsUser(update.content, this.deps.me)) : c;
  }

  /** A message of this device is stored: shown in its place at once. */
  sent(item: OutgoingMessage, as: StoredAs, device: string): void {
    if (item.content.kind.case === "forward" || item.content.replyTo?.clientSeq) return; // the server adds what it shows, or answers: the stream brings it
    const ops: Op[] = [];
    const m: ChatMessage = { conversation: item.conversation, seq: as.seq, id: as.id, sender: this.deps.me, device, clientSeq: item.clientSeq, timeMs: as.timeMs, counted: as.counted, text: item.text, content: item.content };
    this.data.put(applyMessage(this.data.view(m.conversation), m, this.deps.me), ops);
    ops.push({ table: "messages", key: messageKey(m), value: m });
    this.history.add(m, true);
    if (isUpdate(m.content)) this.update(m, false, ops);
    this.data.keep(ops);
  }
}
