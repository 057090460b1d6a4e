import { create } from "@bufbuild/protobuf";
import { CardSchema, CustomSchema, ForwardSchema, LocationSchema, type Content, type LinkPreview, type Mention } from "../gen/rialto/chat/v1/message_pb.js";
import { encoded, type CardOf, type LocationOf } from "../kinds.js";
import { isSignal, isUpdate, type OutgoingMessage } from "../model.js";
import type { SendOptions } from "../session.js";
import { edit, pin, reaction, recall } from "../updates.js";
import { sessionOf, type Context } from "./context.js";

/** What is sent: a call for each kind of message, and for each update of one, on top of the one that sends any content. */
export function sends(client: Context) {
  const send = async (conversation: string, content: Content["kind"], options?: SendOptions): Promise<OutgoingMessage> => sessionOf(client).send(conversation, content, options);
  return {
    /** Sends; resolves once the message is kept on the device. It goes out when it can, once. */
    send,

    sendText(conversation: string, text: string, options?: SendOptions): Promise<OutgoingMessage> {
      return send(conversation, { case: "text", value: text }, options);
    },

    sendLocation(conversation: string, place: LocationOf): Promise<OutgoingMessage> {
      return send(conversation, { case: "location", value: create(LocationSchema, place) });
    },

    /** Shows 1 to 100 messages of a conversation, by their seqs, to another; with a title, as one card. It comes back with the messages. */
    forward(to: string, from: string, seqs: readonly number[], title = ""): Promise<OutgoingMessage> {
      return send(to, { case: "forward", value: create(ForwardSchema, { title, conversation: from, seqs: seqs.map(BigInt) }) });
    },

    /** Sends a card that refers to a link, a user or a group, or to nothing. */
    sendCard(conversation: string, card: CardOf): Promise<OutgoingMessage> {
      return send(conversation, { case: "card", value: create(CardSchema, card) });
    },

    /** Sends a message of a kind of one's own (see registerKind), of at most 64 KiB. Clients that do not know it show the fallback. */
    sendCustom(conversation: string, type: string, data: unknown, fallback: string): Promise<OutgoingMessage> {
      return send(conversation, { case: "custom", value: create(CustomSchema, { type, data: encoded(data), fallback }) });
    },

    /** Sends a message for programs, of at most 64 KiB: it is delivered, but not shown, and is not unread. */
    sendSignal(conversation: string, type: string, data: unknown): Promise<OutgoingMessage> {
      return send(conversation, { case: "signal", value: create(CustomSchema, { type, data: encoded(data) }) });
    },

    /** Replaces the text of a message of one's own, or the caption of a loaded file or album; without its link preview, that is removed. It shows at once, and goes out as a message does. */
    edit(conversation: string, seq: number, text: string, mentions?: readonly Mention[], linkPreview?: LinkPreview): Promise<OutgoingMessage> {
      return send(conversation, edit(seq, text, mentions, linkPreview, client.session()?.replica.history.log(conversation).get(seq)?.content));
    },

    /** Takes a message back for everybody. */
    recall(conversation: string, seq: number): Promise<OutgoingMessage> {
      return send(conversation, recall(seq));
    },

    /** Adds one's emoji to a message, or removes it. */
    react(conversation: string, seq: number, emoji: string, remove = false): Promise<OutgoingMessage> {
      return send(conversation, reaction(seq, emoji, remove));
    },

    /** Pins a message for all members, or removes the pin. */
    pin(conversation: string, seq: number, remove = false): Promise<OutgoingMessage> {
      return send(conversation, pin(seq, remove));
    },

    /** What was sent here and is not stored yet, in order. Of edits, recalls, reactions and pins only those that the server refused. */
    outgoing(conversation: string): readonly OutgoingMessage[] {
      return client.snapshots.list(`out/${conversation}`, () => client.session()?.outbox.list(conversation).filter((o) => o.failed || !(isUpdate(o.content) || isSignal(o.content))) ?? []);
    },

    /** Sends a refused message again, as a new one. */
    async retry(clientSeq: number): Promise<void> {
      await sessionOf(client).outbox.retry(clientSeq);
    },

    /** Gives up a refused message. */
    async discard(clientSeq: number): Promise<void> {
      await sessionOf(client).outbox.discard(clientSeq);
    },
  };
}
