import { Notices, type Conversation as ConversationPb, type ConversationState } from "./gen/rialto/chat/v1/chat_pb.js";
import { Control_Action, Role, TicketStatus, type Control } from "./gen/rialto/chat/v1/message_pb.js";
import { mentionsUser } from "./mentions.js";
import { isShown, isShownIn, isSignal, isThread, isUpdate, retentionOf, toMessage, unknownConversation, type ChatMessage, type ConversationView, type IsSame } from "./model.js";
import { recognizable } from "./references.js";

/** What becomes of a conversation by what the server says of it. Each function returns a new view. */

/** Takes the server's view over ours. Cursors never go back, and what the user set here and is not confirmed stays. */
export function mergeConversation(old: ConversationView | undefined, c: ConversationPb): ConversationView {
  const was = old ?? unknownConversation(c.id);
  const lastSeq = Number(c.lastSeq);
  const last = c.lastMessage ? toMessage(c.lastMessage) : undefined;
  const readCounted = Number(c.state?.readCounted ?? 0n);
  const fresh: ConversationView = {
    ...was,
    kind: c.kind,
    title: c.title,
    announcement: c.announcement,
    avatar: c.avatar,
    joinPolicy: c.joinPolicy,
    memberCount: c.memberCount,
    peer: c.peer,
    role: c.role,
    joinSeq: Math.max(Number(c.joinSeq), (was.pendingClear?.through ?? -1) + 1),
    leaveSeq: Number(c.leaveSeq),
    large: c.large,
    channel: c.channel,
    notices: c.notices !== Notices.UNSPECIFIED,
    ticket: c.ticket,
    handle: c.handle,
    mutedAll: c.mutedAll,
    mutedUntilMs: Number(c.mutedUntilMs),
    dissolved: c.dissolved,
    retentionSeconds: c.retentionSeconds,
    keptSeconds: c.keptSeconds,
    peerDeliveredSeq: Math.max(was.peerDeliveredSeq, Number(c.peerDeliveredSeq)),
    peerReadSeq: Math.max(was.peerReadSeq, Number(c.peerReadSeq)),
    stateSeq: Math.max(was.stateSeq, lastSeq),
    parent: c.parent || "0",
    rootSeq: Number(c.rootSeq),
  };
  if (lastSeq >= was.lastSeq) {
    fresh.lastSeq = lastSeq;
    fresh.lastCounted = Math.max(was.lastCounted, readCounted + Number(c.unread), last?.counted ?? 0);
    fresh.recalled = Math.max(0, (last?.counted ?? 0) - readCounted - Number(c.unread));
    fresh.mentions = c.mentions.map(Number);
    if (last && isShown(last)) fresh.lastMessage = last;
    if (fresh.lastMessage && fresh.lastMessage.seq < fresh.joinSeq) delete fresh.lastMessage; // it has expired
  }
  return c.state ? mergeState(fresh, c.state) : fresh;
}

/**
 * What stays of a conversation after a reset: what the user set here and the server has not confirmed. The server may have lost what was read here, as after
 * a backup was restored, and give its numbers to other messages: cursors and counts come from the server alone, unless the message that they name is the same.
 */
export function unconfirmedPart(old: ConversationView | undefined, c: ConversationPb, isSame: IsSame): ConversationView | undefined {
  if (!old) return undefined;
  const readSeq = recognizable(old, old.readSeq);
  const through = recognizable(old, old.pendingClear?.through ?? 0);
  const pendingDeletes = old.pendingDeletes?.filter((seq) => isSame(c.id, seq)) ?? [];
  return {
    ...unknownConversation(c.id),
    pending: old.pending,
    ...(old.pendingClear && isSame(c.id, through) ? { pendingClear: { ...old.pendingClear, through } } : {}),
    ...(pendingDeletes.length > 0 ? { pendingDeletes } : {}),
    ...(old.readPending && isSame(c.id, readSeq) ? { readSeq, readCounted: old.readCounted, readPending: true } : {}),
  };
}

export function mergeState(c: ConversationView, s: ConversationState): ConversationView {
  const readSeq = Number(s.readSeq);
  const behind = readSeq < c.readSeq;
  return {
    ...c,
    pinned: c.pending.pinned ?? s.pinned,
    muted: c.pending.muted ?? s.muted,
    archived: c.pending.archived ?? s.archived,
    draft: c.pending.draft ?? s.draft,
    markedUnread: c.pending.markedUnread ?? s.markedUnread,
    readSeq: behind ? c.readSeq : readSeq,
    readCounted: behind ? c.readCounted : Math.max(c.readCounted, Number(s.readCounted)),
    recalled: recalledAfter(c, behind ? c.readSeq : readSeq),
    mentions: mentionsAfter(c, behind ? c.readSeq : readSeq),
    readPending: behind && c.readPending,
  };
}

/** What is known of recalled messages after a read cursor that moves. Where it does not reach the end, some may be counted that it passed. */
export function recalledAfter(c: ConversationView, readSeq: number): number {
  return readSeq >= c.lastSeq ? 0 : (c.recalled ?? 0);
}

/** The unread mentions after a read cursor that moves. */
export function mentionsAfter(c: ConversationView, readSeq: number): readonly number[] {
  const mentions = c.mentions ?? [];
  return mentions.some((seq) => seq <= readSeq) ? mentions.filter((seq) => seq > readSeq) : mentions;
}

/** Adds a message to the unread mentions, or takes it from them. */
export function withMention(c: ConversationView, seq: number, mentioned: boolean): ConversationView {
  const was = c.mentions ?? [];
  if (was.includes(seq) === (mentioned && seq > c.readSeq)) return c;
  const mentions = mentioned ? [...was, seq].sort((a, b) => a - b).slice(0, 100) : was.filter((m) => m !== seq);
  return { ...c, mentions };
}

/** Raises the seq from which on one may read: what lies below is gone, and is not unread. counted: the count before that seq. */
export function withoutBelow(c: ConversationView, seq: number, counted: number): ConversationView {
  if (seq <= c.joinSeq) return c;
  const { lastMessage, ...rest } = c;
  const read = seq - 1 > c.readSeq;
  return {
    ...rest,
    ...(lastMessage && lastMessage.seq >= seq ? { lastMessage } : {}),
    joinSeq: seq,
    ...(read ? { readSeq: seq - 1, readCounted: Math.max(c.readCounted, counted), recalled: recalledAfter(c, seq - 1), mentions: mentionsAfter(c, seq - 1) } : {}),
  };
}

/** Takes over what the user deleted: entries up to a seq, whose count is counted, and perhaps the conversation's place on the list. */
export function withDeletion(c: ConversationView, d: { through: number; counted: number; deleted: boolean }): ConversationView {
  return { ...withoutBelow(c, d.through + 1, d.counted), deleted: d.deleted && c.lastCounted <= d.counted };
}

/** Takes a message away that the user deleted: it is not unread, and last is the newest that remains, where it was the last message. */
export function withoutMessage(c: ConversationView, seq: number, mine: boolean, last: ChatMessage | undefined): ConversationView {
  const { lastMessage, ...rest } = withMention(c, seq, false);
  const shown = lastMessage?.seq === seq ? last : lastMessage;
  const wasUnread = !mine && seq > c.readSeq;
  return { ...rest, ...(shown ? { lastMessage: shown } : {}), recalled: (c.recalled ?? 0) + (wasUnread ? 1 : 0) };
}

/** Takes a message into the conversation: last message, counts, one's own cursor, and what a control entry changes. */
export function applyMessage(c: ConversationView, m: ChatMessage, me: string): ConversationView {
  let next = c;
  if (m.seq > c.lastSeq) {
    next = { ...next, lastSeq: m.seq, lastCounted: Math.max(c.lastCounted, m.counted) };
    if (c.deleted && next.lastCounted > c.lastCounted) next.deleted = false;
    if (isShownIn(c, m)) next.lastMessage = m;
  }
  const control = m.content.kind.case === "control" ? m.content.kind.value : undefined;
  if (!control && !isUpdate(m.content) && !isSignal(m.content) && m.sender === me && m.seq > next.readSeq) {
    next = { ...next, readSeq: m.seq, readCounted: Math.max(next.readCounted, m.counted), recalled: 0, mentions: mentionsAfter(next, m.seq) };
  }
  if (!isUpdate(m.content) && m.sender !== me) next = withMention(next, m.seq, mentionsUser(m.content, me));
  if (control && m.seq > c.stateSeq) next = { ...applyControl(next, control, m.seq, me), stateSeq: m.seq };
  return next;
}

function applyControl(c: ConversationView, control: Control, seq: number, me: string): ConversationView {
  const mine = control.users.includes(me);
  const thread = isThread(c);
  switch (control.action) {
    case Control_Action.CREATED:
      return { ...c, title: control.text || c.title, memberCount: Math.max(c.memberCount, control.users.length) };
    case Control_Action.JOINED:
      return { ...c, memberCount: c.memberCount + control.users.length, ...(mine ? (thread ? { role: Role.MEMBER } : { leaveSeq: 0, joinSeq: seq }) : {}) };
    case Control_Action.LEFT:
    case Control_Action.REMOVED:
      return { ...c, memberCount: Math.max(0, c.memberCount - control.users.length), ...(mine ? { role: Role.UNSPECIFIED, ...(thread ? {} : { leaveSeq: seq }) } : {}) };
    case Control_Action.ROLE:
      return mine ? { ...c, role: control.role } : c;
    case Control_Action.RENAMED:
      return { ...c, title: control.text };
    case Control_Action.ANNOUNCED:
      return { ...c, announcement: control.text };
    case Control_Action.TICKET:
      return { ...c, mutedAll: control.ticketStatus === TicketStatus.RESOLVED };
    case Control_Action.MUTED:
      if (control.users.length === 0) return { ...c, mutedAll: control.untilMs !== 0n };
      return mine ? { ...c, mutedUntilMs: Number(control.untilMs) } : c;
    case Control_Action.TRANSFERRED:
      if (mine) return { ...c, role: Role.OWNER, mutedUntilMs: 0 };
      return c.role === Role.OWNER ? { ...c, role: Role.ADMIN } : c;
    case Control_Action.DISSOLVED:
      return { ...c, dissolved: true };
    case Control_Action.RETENTION:
      // The limit of the server itself is in its next answer. Until then nothing is deleted here that may be kept.
      return { ...c, retentionSeconds: retentionOf(control), keptSeconds: retentionOf(control) };
    case Control_Action.JOIN_POLICY:
      return { ...c, joinPolicy: control.joinPolicy };
    case Control_Action.AVATAR:
      return { ...c, avatar: control.upload };
    case Control_Action.LARGE:
      return { ...c, large: true };
    case Control_Action.SMALL:
      return { ...c, large: false };
    default:
      return c;
  }
}
