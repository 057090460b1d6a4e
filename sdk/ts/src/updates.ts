import { create } from "@bufbuild/protobuf";
import { ContentSchema, type Content, type LinkPreview, type Mention, type Ref } from "./gen/rialto/chat/v1/message_pb.js";
import { isUpdate, textOf, toDelivery, type BridgeDelivery, type ChatMessage, type OutgoingMessage } from "./model.js";

/**
 * Updates are entries that change an earlier message, their target: edits, recalls, reactions, pins, starts of threads, and reports of bridges. They may be applied in any
 * order, and again: of edits and pins the highest seq wins, of reactions the highest version, and nothing undoes a recall.
 */

type Kind = Content["kind"];

/** The update that edits a text, or the caption of a file or an album, and replaces its mentions and its link preview. of is the message's content. */
export function edit(seq: number, text: string, mentions: readonly Mention[] = [], linkPreview?: LinkPreview, of?: Content): Kind {
  return { case: "edit", value: { $typeName: "rialto.chat.v1.Edit", target: ref(seq), content: create(ContentSchema, { kind: saying(of, text), mentions: [...mentions], ...(linkPreview ? { linkPreview } : {}) }), ends: false } };
}

/** A file or an album with another caption, or else a text. */
function saying(of: Content | undefined, text: string): Kind {
  const kind = of?.kind;
  switch (kind?.case) {
    case "image":
    case "file":
    case "voice":
    case "video":
      return { case: kind.case, value: { ...kind.value, caption: text } };
    case "album":
      return { case: "album", value: { ...kind.value, caption: text } };
    default:
      return { case: "text", value: text };
  }
}

export function recall(seq: number): Kind {
  return { case: "recall", value: { $typeName: "rialto.chat.v1.Recall", target: ref(seq) } };
}

export function reaction(seq: number, emoji: string, remove: boolean): Kind {
  return { case: "reaction", value: { $typeName: "rialto.chat.v1.Reaction", target: ref(seq), emoji, remove } };
}

export function pin(seq: number, remove: boolean): Kind {
  return { case: "pin", value: { $typeName: "rialto.chat.v1.Pin", target: ref(seq), remove } };
}

export function ref(seq: number): Ref {
  return { $typeName: "rialto.chat.v1.Ref", seq: BigInt(seq), clientSeq: 0n };
}

/** Refers to a message of the same device, whose seq need not be known. */
export function ownRef(clientSeq: number): Ref {
  return { $typeName: "rialto.chat.v1.Ref", seq: 0n, clientSeq: BigInt(clientSeq) };
}

/** The seq of the message that an update changes; 0 for every other content. */
export function targetOf(content: Content): number {
  switch (content.kind.case) {
    case "edit":
    case "recall":
    case "reaction":
    case "pin":
    case "thread":
    case "bridgeReport":
      return Number(content.kind.value.target?.seq ?? 0n);
    default:
      return 0;
  }
}

/** A message after an update of it, at seq by a user. */
export function applyUpdate(m: ChatMessage, content: Content, at: { seq: number; sender: string; timeMs: number }, me: string): ChatMessage {
  if (m.recallSeq) return m;
  const { kind } = content;
  switch (kind.case) {
    case "edit": {
      const edited = kind.value.content;
      if (!edited || at.seq <= (m.editSeq ?? 0)) return m;
      const content = edited.replyTo || !m.content.replyTo ? edited : { ...edited, replyTo: m.content.replyTo }; // one that is on its way leaves out what stays
      return { ...m, content, text: textOf(edited), editSeq: at.seq, editedMs: kind.value.ends ? 0 : at.timeMs };
    }
    case "recall":
      return recalled(m, at.seq, at.sender);
    case "pin":
      return at.seq <= (m.pinSeq ?? 0) ? m : { ...m, pinned: !kind.value.remove, pinSeq: at.seq };
    case "thread":
      return m.thread ? m : { ...m, thread: { conversation: kind.value.conversation, replies: 0, lastReplyMs: 0 } };
    case "bridgeReport":
      return kind.value.delivery ? withDelivery(m, toDelivery(kind.value.delivery, at.seq)) : m;
    case "reaction": {
      const { emoji, remove, reactions } = kind.value;
      const was = m.reactions ?? { version: 0, counts: [], mine: [] };
      const mine = at.sender !== me ? was.mine : remove ? was.mine.filter((e) => e !== emoji) : [...was.mine.filter((e) => e !== emoji), emoji];
      if (reactions && Number(reactions.version) > was.version) {
        return { ...m, reactions: { version: Number(reactions.version), counts: reactions.counts.map(({ emoji, count }) => ({ emoji, count })), mine } };
      }
      // One's own, before the server has said what it makes of it.
      if (reactions || at.sender !== me || was.mine.includes(emoji) !== remove) return { ...m, reactions: { ...was, mine } };
      return { ...m, reactions: { ...was, counts: counted(was.counts, emoji, remove ? -1 : 1), mine } };
    }
    default:
      return m;
  }
}

function recalled(m: ChatMessage, seq: number, by: string): ChatMessage {
  const { reactions: _, ...rest } = m;
  return { ...rest, ...(m.pinned ? { pinned: false } : {}), content: create(ContentSchema), text: "", recallSeq: seq, recalledBy: by };
}

/** Of two reports of a bridge, the later one counts. */
function withDelivery(m: ChatMessage, d: BridgeDelivery): ChatMessage {
  const before = m.bridgeDeliveries ?? [];
  if (before.some((b) => b.bridge === d.bridge && b.seq >= d.seq)) return m;
  return { ...m, bridgeDeliveries: [...before.filter((b) => b.bridge !== d.bridge), d] };
}

function counted(counts: readonly { emoji: string; count: number }[], emoji: string, by: number): { emoji: string; count: number }[] {
  const found = counts.find((c) => c.emoji === emoji);
  if (!found) return by > 0 ? [...counts, { emoji, count: by }] : [...counts];
  return counts.map((c) => (c === found ? { emoji, count: c.count + by } : c)).filter((c) => c.count > 0);
}

/** Messages as they will be once the updates on their way are stored. */
export function withPending(messages: readonly ChatMessage[], outgoing: readonly OutgoingMessage[], me: string): readonly ChatMessage[] {
  const updates = outgoing.filter((o) => !o.failed && isUpdate(o.content));
  if (updates.length === 0) return messages;
  return messages.map((m) => updates.filter((o) => targetOf(o.content) === m.seq).reduce((m, o) => applyUpdate(m, o.content, { seq: Number.MAX_SAFE_INTEGER, sender: me, timeMs: o.createdMs }, me), m));
}
