import type { ChatMessage } from "./model.js";
import { Sends } from "./sends.js";
import type { ClientSession } from "./session.js";

/**
 * Deletions has what a user deletes for themself: on all devices and for good, while the others keep it. It is gone here at once, and the server
 * is told as soon as it can be reached.
 */
export abstract class Deletions extends Sends {
  /** What there is while somebody is logged in; fails where nobody is. */
  protected abstract get current(): ClientSession;

  protected abstract session: ClientSession | undefined;

  /** Whether a message that was read before may not be shown any more: it has expired, or this user deleted it. */
  isGone(m: ChatMessage): boolean {
    return this.session?.replica.expiry.isGone(m) ?? false;
  }

  /** Deletes messages, at most 10,000 of a conversation. For everybody: recall. */
  deleteMessages(conversation: string, seqs: readonly number[]): Promise<void> {
    return this.current.replica.conversations.deleteMessages(conversation, seqs);
  }

  /** Deletes the history, up to through: the last seq that the user saw when they were asked. Without it, all so far. */
  clearHistory(conversation: string, through?: number): Promise<void> {
    return this.current.replica.conversations.clear(conversation, false, through);
  }

  /** Clears the history as clearHistory does, and takes the conversation off the list until a message comes, or came after through. */
  deleteConversation(conversation: string, through?: number): Promise<void> {
    return this.current.replica.conversations.clear(conversation, true, through);
  }
}
