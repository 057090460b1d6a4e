import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Settings as SettingsPb, SettingsSchema, User as UserPb } from "./gen/rialto/account/v1/account_pb.js";
import { ConversationKind, type Relation as RelationPb } from "./gen/rialto/chat/v1/chat_pb.js";
import type { CustomStatusView } from "./customStatus.js";
import { Control_Action, JoinPolicy, Role, type BridgeDelivery as DeliveryPb, type Content, type Control, type Message as MessagePb, type Thread as ThreadPb } from "./gen/rialto/chat/v1/message_pb.js";

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
  /** The text of a text message, the caption of a file or an album, and otherwise empty. */
  text: string;
  /** As it is now: that of the last edit, and without a kind once the message is recalled. */
  content: Content;
  /** Seq of the edit whose content this is. Absent: never edited. */
  editSeq?: number;
  editedMs?: number;
  /** Seq of the recall. Absent: not recalled. */
  recallSeq?: number;
  recalledBy?: string;
  /** Seq of the last pin, or of its removal. */
  pinSeq?: number;
  pinned?: boolean;
  /** Absent: there never were any. */
  reactions?: Reactions;
  /** Absent: nobody started one. */
  thread?: ThreadInfo;
  /** What became of it in the systems with which its group is linked, one for each bridge that has reported, by seq. Absent: none has. */
  bridgeDeliveries?: readonly BridgeDelivery[];
}

/** What became of a message in another system: it has an externalId there, or was refused for a reason, which text tells people. */
export interface BridgeDelivery {
  bridge: string;
  /** Seq of the entry with the report. */
  seq: number;
  externalId: string;
  reason: string;
  text: string;
}

/** What a message shows of the thread under it. */
export interface ThreadInfo {
  /** The conversation with the replies. */
  conversation: string;
  replies: number;
  /** 0: there is none. */
  lastReplyMs: number;
}

/** Reactions to a message: how many users used each emoji, and which oneself did. */
export interface Reactions {
  version: number;
  counts: readonly { emoji: string; count: number }[];
  mine: readonly string[];
}

/** A message on its way: kept on the device until the server has it. */
export interface OutgoingMessage {
  conversation: string;
  clientSeq: number;
  /** As in ChatMessage. */
  text: string;
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
  markedUnread?: boolean;
}

/** What the user cleared of a conversation and the server has not confirmed: entries up to a seq. */
export interface PendingClear {
  through: number;
  delete: boolean;
}

export interface ConversationView {
  id: string;
  kind: ConversationKind;
  /** Of a group, its title; of a one-to-one conversation, the other's name: your remark for them, or the name they gave themselves. */
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
  /** Only admins write, and everybody may follow who has the address: see Client.channels. */
  channel: boolean;
  /** A channel of system notices: users follow it without joining, and mute it, and cannot leave it. */
  notices: boolean;
  /** A ticket of a help desk: the group's members are its customer and the agent who serves it. Its id is that of the ticket. */
  ticket: boolean;
  /** Of a channel; empty for none. */
  handle: string;
  mutedAll: boolean;
  /** Until this time the user alone may not write here. */
  mutedUntilMs: number;
  dissolved: boolean;
  /** Seconds that messages are kept, as set for this conversation; 0: as the server keeps them. */
  retentionSeconds: number;
  /** For so many seconds messages are kept; 0: for ever. They disappear here at that age, and on the server. */
  keptSeconds: number;
  pinned: boolean;
  muted: boolean;
  archived: boolean;
  draft: string;
  /** The user wants to come back to it. Reading clears it; it counts nothing. */
  markedUnread: boolean;
  readSeq: number;
  readCounted: number;
  /** How many messages after the read cursor were recalled, as far as is known. */
  recalled: number;
  /** Seqs of the unread messages that mention the user, the lowest first, at most 100. */
  mentions: readonly number[];
  peerDeliveredSeq: number;
  peerReadSeq: number;
  /** Highest seq that the sync stream brought: what it brings again is not new. */
  streamSeq: number;
  /** Control entries to here are in the fields above already. */
  stateSeq: number;
  /** The read cursor was moved here, and the server has not said that it knows. */
  readPending: boolean;
  pending: PendingSettings;
  /** The user deleted it: it is not listed until a message comes. */
  deleted?: boolean;
  pendingClear?: PendingClear;
  /** Seqs of messages that the user deleted and the server has not confirmed. */
  pendingDeletes?: readonly number[];
  /** Of a thread, the conversation that it belongs to; "0" for other kinds. */
  parent: string;
  /** Of a thread, the seq in its parent of the message that it is under. */
  rootSeq: number;
}

export type Relation = Omit<RelationPb, "$typeName" | "$unknown">;

/** A folder of conversations, the same on all devices of the user. */
export interface ChatFolder {
  id: string;
  name: string;
  /** Some may be conversations that the user has left. */
  conversations: readonly string[];
}

/** An invitation to a group, which waits for an answer. */
export interface GroupInvitation {
  conversation: string;
  title: string;
  inviter: string;
  timeMs: number;
}

/** An invitation to become a member of an organization, which waits for an answer. */
export interface OrganizationInvitation {
  organization: string;
  /** Of the organization. */
  name: string;
  inviter: string;
  timeMs: number;
}

/** JoinRequests of a group changed: who asked, empty ("0") where one was answered, and how many wait. */
export interface JoinRequests {
  conversation: string;
  user: string;
  waiting: number;
}

/** What the user chose, the same on all devices. */
export interface AccountSettings extends Omit<SettingsPb, "$typeName" | "$unknown" | "customStatus"> {
  /** What others see beside the name; undefined for none. */
  customStatus: CustomStatusView | undefined;
}

export interface User extends Omit<UserPb, "$typeName" | "$unknown"> {
  /** When it was fetched: avatar URLs end after a while. */
  fetchedMs: number;
}

export type KindOf = "direct" | "group" | "channel";

/** What a person calls a conversation; undefined while only its id is known. A conversation with oneself is direct. */
export function kindOf(c: ConversationView): KindOf | undefined {
  switch (c.kind) {
    case ConversationKind.DIRECT:
      return "direct";
    case ConversationKind.GROUP:
      return c.channel ? "channel" : "group";
    default:
      return undefined;
  }
}

/** The text of a content: a text message's, or the caption of a file or an album. */
export function textOf(content: Content): string {
  const { kind } = content;
  switch (kind.case) {
    case "text":
      return kind.value;
    case "image":
    case "file":
    case "voice":
    case "video":
    case "album":
      return kind.value.caption;
    default:
      return "";
  }
}

/** Whether a content is an update: an edit, a recall, a reaction, a pin, the start of a thread, or the report of a bridge. It is shown at its target, and not as a message. */
export function isUpdate(content: Content): boolean {
  const { case: kind } = content.kind;
  return kind === "edit" || kind === "recall" || kind === "reaction" || kind === "pin" || kind === "thread" || kind === "bridgeReport";
}

/** Whether a content is only for programs: it is delivered, but never shown, and is not unread. */
export function isSignal(content: Content): boolean {
  return content.kind.case === "signal";
}

/** A message or conversation that an older version of this SDK stored lacks the text. */
export function withText<T extends { text: string; content: Content }>(m: T): T {
  return m.text === undefined ? { ...m, text: textOf(m.content) } : m;
}

const nothing = { $typeName: "rialto.chat.v1.Content", kind: { case: undefined } } as Content;

export function toMessage(m: MessagePb): ChatMessage {
  const content = m.content ?? nothing;
  return {
    conversation: m.conversation,
    seq: Number(m.seq),
    id: m.id,
    sender: m.sender,
    device: m.device,
    clientSeq: Number(m.clientSeq),
    timeMs: Number(m.timeMs),
    counted: Number(m.counted),
    text: textOf(content),
    content,
    ...(m.editSeq ? { editSeq: Number(m.editSeq), editedMs: Number(m.editedMs) } : {}),
    ...(m.recallSeq ? { recallSeq: Number(m.recallSeq), recalledBy: m.recalledBy } : {}),
    ...(m.pinSeq ? { pinSeq: Number(m.pinSeq), pinned: m.pinned } : {}),
    ...(m.reactions ? { reactions: { version: Number(m.reactions.version), counts: m.reactions.counts.map(({ emoji, count }) => ({ emoji, count })), mine: m.reactions.mine } } : {}),
    ...(m.thread ? { thread: toThread(m.thread) } : {}),
    ...(m.bridgeDeliveries.length > 0 ? { bridgeDeliveries: m.bridgeDeliveries.map((d) => toDelivery(d, Number(d.seq))) } : {}),
  };
}

export function toDelivery({ bridge, externalId, reason, text }: DeliveryPb, seq: number): BridgeDelivery {
  return { bridge, seq, externalId, reason, text };
}

export function toThread(t: ThreadPb): ThreadInfo {
  return { conversation: t.conversation, replies: t.replies, lastReplyMs: Number(t.lastReplyMs) };
}

export function toRelation(r: RelationPb): Relation {
  const { user, friend, requested, asked, blocked, following, remark, message, muted } = r;
  return { user, friend, requested, asked, blocked, following, remark, message, muted };
}

export function toUser(u: UserPb, fetchedMs: number): User {
  const { id, handle, displayName, avatar, bio, avatarUrl, official, deleted, bridge } = u;
  return { id, handle, displayName, avatar, bio, avatarUrl, official, deleted, bridge, fetchedMs };
}

export function toSettings(s: SettingsPb): AccountSettings {
  const { locale, theme, hideRead, whoMayAdd, whoMaySeePresence, availability, customStatus: c, noLinkPreviews, noPersonalization } = s;
  const custom = c && (c.emoji || c.text) ? { emoji: c.emoji, text: c.text, untilMs: Number(c.untilMs) } : undefined;
  return { locale, theme, hideRead, whoMayAdd, whoMaySeePresence, availability, customStatus: custom, noLinkPreviews, noPersonalization };
}

/** Settings as the API takes them. */
export function fromSettings(s: AccountSettings): MessageInitShape<typeof SettingsSchema> {
  const { customStatus: c, ...rest } = s;
  return c ? { ...rest, customStatus: { ...c, untilMs: BigInt(c.untilMs) } } : rest;
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
    channel: false,
    notices: false,
    ticket: false,
    handle: "",
    mutedAll: false,
    mutedUntilMs: 0,
    dissolved: false,
    retentionSeconds: 0,
    keptSeconds: 0,
    pinned: false,
    muted: false,
    archived: false,
    draft: "",
    markedUnread: false,
    readSeq: 0,
    readCounted: 0,
    recalled: 0,
    mentions: [],
    peerDeliveredSeq: 0,
    peerReadSeq: 0,
    streamSeq: 0,
    stateSeq: 0,
    readPending: false,
    pending: {},
    parent: "0",
    rootSeq: 0,
  };
}

/**
 * Unread is a subtraction: what counts up to the last message, less what counted up to the read cursor, and what was recalled. Nothing is added
 * up one by one, so a lost or repeated event cannot make it wrong for long.
 */
export function unread(c: ConversationView): number {
  return Math.max(0, c.lastCounted - c.readCounted - (c.recalled ?? 0));
}

/** The badge: unread of all conversations that are neither muted nor archived, and that one has not left. Of threads, those that one follows. */
export function badge(conversations: ReadonlyMap<string, ConversationView>): number {
  let sum = 0;
  for (const c of conversations.values()) if (!c.muted && !c.archived && c.leaveSeq === 0 && (!isThread(c) || isFollowed(c, conversations))) sum += unread(c);
  return sum;
}

export function isThread(c: ConversationView): boolean {
  return c.kind === ConversationKind.THREAD;
}

/** Whether a conversation is a thread that the user follows, of a conversation that they are in. */
export function isFollowed(c: ConversationView, all: ReadonlyMap<string, ConversationView>): boolean {
  return isThread(c) && c.role !== Role.UNSPECIFIED && all.get(c.parent)?.leaveSeq === 0;
}

/** The lowest time of storing that has not expired in a conversation. */
export function oldestMs(c: ConversationView, now: number): number {
  return c.keptSeconds ? now - c.keptSeconds * 1_000 : -Infinity;
}

/** Entries that say something to a person. The others change an earlier message, or only steer who may write, or how messages travel. */
export function isShown(m: ChatMessage): boolean {
  if (m.recallSeq) return true;
  if (isUpdate(m.content) || isSignal(m.content)) return false;
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

/** Whether a conversation shows an entry: a thread shows no control entries, since they only say who follows it. */
export function isShownIn(c: ConversationView | undefined, m: ChatMessage): boolean {
  return isShown(m) && !(c && isThread(c) && m.content.kind.case === "control");
}

/** The seconds for which a control entry lets messages be kept. Old entries have days. */
export function retentionOf(control: Control): number {
  return control.retentionSeconds || control.retentionDays * 86_400;
}

/** Pinned first, then the last active first: the order of the server's list. */
export function compareConversations(a: ConversationView, b: ConversationView): number {
  if (a.pinned !== b.pinned) return a.pinned ? -1 : 1;
  return compareActivity(a, b);
}

/** The last active first. */
export function compareActivity(a: ConversationView, b: ConversationView): number {
  const at = a.lastMessage?.timeMs ?? 0;
  const bt = b.lastMessage?.timeMs ?? 0;
  if (at !== bt) return bt - at;
  return a.id.length !== b.id.length ? b.id.length - a.id.length : b.id > a.id ? 1 : b.id < a.id ? -1 : 0;
}

/** A message by its place. */
export interface Reference {
  conversation: string;
  seq: number;
}

/** Whether the server still has what this device knows at a place. */
export type IsSame = (conversation: string, seq: number) => boolean;
