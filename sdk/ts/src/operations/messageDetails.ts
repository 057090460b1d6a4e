import { toMessage, type ChatMessage } from "../model.js";
import type { Context } from "./context.js";

/** What is read of messages when somebody asks for it: their versions, who reacted, and where a day begins. */
export function messageDetails(client: Context) {
  const { chat } = client.services;
  return {
    /**
     * The versions of a message, from the first to the present one, in pages of at most 100 edits. next is the next page's token, empty at the
     * end. A recalled message has none.
     */
    async versions(conversation: string, seq: number, page = ""): Promise<{ versions: readonly ChatMessage[]; next: string }> {
      const answer = await chat.listEdits({ conversation, seq: BigInt(seq), page });
      return { versions: answer.versions.map(toMessage), next: answer.next };
    },

    /** The users who reacted to a message with an emoji, by id, in pages of at most 200. next is the next page's token, empty at the end. */
    async reactors(conversation: string, seq: number, emoji: string, page = ""): Promise<{ users: readonly string[]; next: string }> {
      const { users, next } = await chat.listReactions({ conversation, seq: BigInt(seq), emoji, page, limit: 200 });
      return { users, next };
    },

    /** The seq of the first entry that was stored at a time or later, in milliseconds since 1970; undefined if there is none. openAt loads what is around it. */
    async seqAt(conversation: string, timeMs: number): Promise<number | undefined> {
      const { messages, unreadable } = await chat.history({ conversation, timeMs: BigInt(Math.max(1, Math.floor(timeMs))), limit: 1 });
      const first = messages[0]?.seq ?? unreadable[0];
      return first === undefined ? undefined : Number(first);
    },
  };
}
