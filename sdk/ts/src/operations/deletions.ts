import type { ChatMessage } from "../model.js";
import { sessionOf, type Context } from "./context.js";

/**
 * What a user deletes for themself: on all devices and for good, while the others keep it. It is gone here at once, and the server is told as
 * soon as it can be reached.
 */
export function deletions(client: Context) {
  return {
    /** Whether a message that was read before may not be shown any more: it has expired, or this user deleted it. */
    isGone(m: ChatMessage): boolean {
      return client.session()?.replica.expiry.isGone(m) ?? false;
    },

    /** Deletes messages, at most 10,000 of a conversation. For everybody: recall. */
    async deleteMessages(conversation: string, seqs: readonly number[]): Promise<void> {
      await sessionOf(client).replica.conversations.deleteMessages(conversation, seqs);
    },

    /** Deletes the history, up to through: the last seq that the user saw when they were asked. Without it, all so far. */
    async clearHistory(conversation: string, through?: number): Promise<void> {
      await sessionOf(client).replica.conversations.clear(conversation, false, through);
    },

    /** Clears the history as clearHistory does, and takes the conversation off the list until a message comes, or came after through. */
    async deleteConversation(conversation: string, through?: number): Promise<void> {
      await sessionOf(client).replica.conversations.clear(conversation, true, through);
    },
  };
}
