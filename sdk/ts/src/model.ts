import type { User as UserPb } from "./gen/rialto/account/v1/account_pb.js";
import type {
  Conversation as ConversationPb,
  ConversationKind,
  ConversationState,
  Relation as RelationPb,
} from "./gen/rialto/chat/v1/chat_pb.js";
import { Control_Action, JoinPolicy, Role, type Content, type Control, type Message as MessagePb } from "./gen/rialto/chat/v1/message_pb.js";

/**
 * What the client keeps and shows. All of it is plain data, replaced and never changed in place, so that a view can compare
 * by identity. Sequence numbers are numbers here: they stay far below 2^53.
 */

/** A stored message, as every member sees it. */
export interface ChatMessage {
  conversation: string;
  seq: number;
  id: string;
  /** "0" is the system. */
  sender: string;
  device: string;
  clientSeq: number;
  timeMs: number;
  counted: number;
  content: Content;
}

/** A message on its way: kept on the device until the server has it. */
export interface OutgoingMessage {
  conversation: string;
  clientSeq: number;
  content: Content;
  createdMs: number;
  /** Set when the server refused it for good. */
  failed?: { code: string; reason: string; message: string };
}

/** What the user set for a conversation and the server has not confirmed. */
export interface PendingSettings {
  pinned?: boolean;
  muted?: boolean;
  archived?: boolean;
  draft?: string;
}

export interface ConversationView {
  id: string;
  kind: ConversationKind;
  title: string;
  announcement: string;
  avatar: string;
  joinPolicy: JoinPolicy;
  memberCount: number;
  peer: string;
  role: Role;
  lastSeq: number;
  lastCounted: number;
  joinSeq: number;
  leaveSeq: number;
  lastMessage?: ChatMessage;
  large: boolean;
  mutedAll: boolean;
  dissolved: boolean;
  /** Days that messages are kept, as set for this conversation; 0: as the server keeps them. */
  retentionDays: number;
  /** For so many days messages are kept; 0: for ever. */
  keptDays: number;
  pinned: boolean;
  muted: boolean;
  archived: boolean;
  draft: string;
  readSeq: number;
  readCounted: number;
  peerDeliveredSeq: number;
  peerReadSeq: number;
  /** Highest seq that the sync stream brought: what it brings again is not new. */
  streamSeq: number;
  /** Control entries to here are in the fields above already. */
  stateSeq: number;
  /** The read cursor was moved here, and the server has not said that it knows. */
  readPending: boolean;
  pending: PendingSettings;
}

export type Relation = Omit<RelationPb, "$typeName" | "$unknown">;

/** JoinRequests of a group changed: who asked, empty ("0") where one was answered, and how many wait. */
export interface JoinRequests {
  conversation: string;
  user: string;
  waiting: number;
}

export interface User extends Omit<UserPb, "$typeName" | "$unknown"> {
  /** When it was fetched: avatar URLs end after a while. */
  fetchedMs: number;
}

export function toMessage(m: MessagePb): ChatMessage {
  return {
    conversation: m.conversation,
    seq: Number(m.seq),
    id: m.id,
    sender: m.sender,
    device: m.device,
    clientSeq: Number(m.clientSeq),
    timeMs: Number(m.timeMs),
    counted: Number(m.counted),
    content: m.content ?? ({ $typeName: "rialto.chat.v1.Content", kind: { case: undefined } } as Content),
  };
}

export function toRelation(r: RelationPb): Relation {
  const { user, friend, requested, asked, blocked, following, remark, message } = r;
  return { user, friend, requested, asked, blocked, following, remark, message };
}

export function toUser(u: UserPb, fetchedMs: number): User {
  const { id, handle, displayName, avatar, bio, avatarUrl } = u;
  return { id, handle, displayName, avatar, bio, avatarUrl, fetchedMs };
}

/** A conversation of which only the id is known yet. */
export function unknownConversation(id: string): ConversationView {
  return {
    id,
    kind: 0,
    title: "",
    announcement: "",
    avatar: "0",
    joinPolicy: JoinPolicy.UNSPECIFIED,
    memberCount: 0,
    peer: "0",
    role: Role.UNSPECIFIED,
    lastSeq: 0,
    lastCounted: 0,
    joinSeq: 0,
    leaveSeq: 0,
    large: false,
    mutedAll: false,
    dissolved: false,
    retentionDays: 0,
    keptDays: 0,
    pinned: false,
    muted: false,
    archived: false,
    draft: "",
    readSeq: 0,
    readCounted: 0,
    peerDeliveredSeq: 0,
    peerReadSeq: 0,
    streamSeq: 0,
    stateSeq: 0,
    readPending: false,
    pending: {},
  };
}

/**
 * Unread is a subtraction: what counts up to the last message, less what counted up to the read cursor. Nothing is added
 * up one by one, so a lost or repeated event cannot make it wrong for long.
 */
export function unread(c: ConversationView): number {
  return Math.max(0, c.lastCounted - c.readCounted);
}

/** The badge: unread of all conversations that are not muted. */
export function badge(conversations: Iterable<ConversationView>): number {
  let sum = 0;
  for (const c of conversations) if (!c.muted) sum += unread(c);
  return sum;
}

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
    joinSeq: Number(c.joinSeq),
    leaveSeq: Number(c.leaveSeq),
    large: c.large,
    mutedAll: c.mutedAll,
    dissolved: c.dissolved,
    retentionDays: c.retentionDays,
    keptDays: c.keptDays,
    peerDeliveredSeq: Math.max(was.peerDeliveredSeq, Number(c.peerDeliveredSeq)),
    peerReadSeq: Math.max(was.peerReadSeq, Number(c.peerReadSeq)),
    stateSeq: Math.max(was.stateSeq, lastSeq),
  };
  if (lastSeq >= was.lastSeq) {
    fresh.lastSeq = lastSeq;
    fresh.lastCounted = Math.max(was.lastCounted, readCounted + Number(c.unread), last?.counted ?? 0);
    if (last && isShown(last)) fresh.lastMessage = last;
    if (fresh.lastMessage && fresh.lastMessage.seq < fresh.joinSeq) delete fresh.lastMessage; // it has expired
  }
  return c.state ? mergeState(fresh, c.state) : fresh;
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
    readSeq: behind ? c.readSeq : readSeq,
    readCounted: behind ? c.readCounted : Math.max(c.readCounted, Number(s.readCounted)),
    readPending: behind && c.readPending,
  };
}

/** Entries that say something to a person. The others only steer who may write, or how messages travel. */
export function isShown(m: ChatMessage): boolean {
  if (m.content.kind.case !== "control") return m.content.kind.case !== undefined;
  switch (m.content.kind.value.action) {
    case Control_Action.ACCESS:
    case Control_Action.LARGE:
    case Control_Action.SMALL:
    case Control_Action.UNSPECIFIED:
      return false;
    default:
      return true;
  }
}

/** Takes a message into the conversation: last message, counts, one's own cursor, and what a control entry changes. */
export function applyMessage(c: ConversationView, m: ChatMessage, me: string): ConversationView {
  let next = c;
  if (m.seq > c.lastSeq) {
    next = { ...next, lastSeq: m.seq, lastCounted: Math.max(c.lastCounted, m.counted) };
    if (isShown(m)) next.lastMessage = m;
  }
  const control = m.content.kind.case === "control" ? m.content.kind.value : undefined;
  if (!control && m.sender === me && m.seq > next.readSeq) {
    next = { ...next, readSeq: m.seq, readCounted: Math.max(next.readCounted, m.counted) };
  }
  if (control && m.seq > c.stateSeq) next = { ...applyControl(next, control, m.seq, me), stateSeq: m.seq };
  return next;
}

function applyControl(c: ConversationView, control: Control, seq: number, me: string): ConversationView {
  const mine = control.users.includes(me);
  switch (control.action) {
    case Control_Action.CREATED:
      return { ...c, title: control.text || c.title, memberCount: Math.max(c.memberCount, control.users.length) };
    case Control_Action.JOINED:
      return { ...c, memberCount: c.memberCount + control.users.length, ...(mine ? { leaveSeq: 0, joinSeq: seq } : {}) };
    case Control_Action.LEFT:
    case Control_Action.REMOVED:
      return { ...c, memberCount: Math.max(0, c.memberCount - control.users.length), ...(mine ? { leaveSeq: seq, role: Role.UNSPECIFIED } : {}) };
    case Control_Action.ROLE:
      return mine ? { ...c, role: control.role } : c;
    case Control_Action.RENAMED:
      return { ...c, title: control.text };
    case Control_Action.ANNOUNCED:
      return { ...c, announcement: control.text };
    case Control_Action.MUTED:
      return control.users.length === 0 ? { ...c, mutedAll: control.untilMs !== 0n } : c;
    case Control_Action.TRANSFERRED:
      if (mine) return { ...c, role: Role.OWNER };
      return c.role === Role.OWNER ? { ...c, role: Role.MEMBER } : c;
    case Control_Action.DISSOLVED:
      return { ...c, dissolved: true };
    case Control_Action.RETENTION:
      return { ...c, retentionDays: control.retentionDays };
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

/** Pinned first, then the last active first: the order of the server's list. */
export function compareConversations(a: ConversationView, b: ConversationView): number {
  if (a.pinned !== b.pinned) return a.pinned ? -1 : 1;
  const at = a.lastMessage?.timeMs ?? 0;
  const bt = b.lastMessage?.timeMs ?? 0;
  if (at !== bt) return bt - at;
  return a.id.length !== b.id.length ? b.id.length - a.id.length : b.id > a.id ? 1 : b.id < a.id ? -1 : 0;
}
