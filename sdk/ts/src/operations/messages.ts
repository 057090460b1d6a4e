import { mentionsUser } from "../mentions.js";
import { isUpdate, toMessage, type ChatMessage } from "../model.js";
import { none } from "../snapshots.js";
import { withPending } from "../updates.js";
import { sessionOf, type Context } from "./context.js";

/** The messages of conversations, as far as they are loaded. */
export function messages(client: Context) {
  const { chat } = client.services;
  return {
    /** The loaded end of a conversation, in order, with the edits, recalls, reactions and pins that are on their way. */
    messages(conversation: string): readonly ChatMessage[] {
      const session = client.session();
      if (!session) return none;
      const loaded = session.replica.history.log(conversation).messages;
      const updates = session.outbox.list(conversation).some((o) => isUpdate(o.content));
      return updates ? client.snapshots.list(`messages/${conversation}`, () => withPending(loaded, session.outbox.list(conversation), client.me())) : loaded;
    },

    /** Loads the end of a conversation, and keeps it whole from then on. */
    async open(conversation: string): Promise<void> {
      await sessionOf(client).replica.history.open(conversation);
    },

    /**
     * Loads the messages around a seq, as of the first unread one. Where too many follow, messages() does not reach the end: newer
     * loads on, and latest returns to it.
     */
    async openAt(conversation: string, seq: number): Promise<void> {
      await sessionOf(client).replica.history.openAt(conversation, seq);
    },

    /** Loads newer messages where messages() does not reach the end; false once it does. */
    async newer(conversation: string): Promise<boolean> {
      return sessionOf(client).replica.history.newer(conversation);
    },

    /** Loads the end of a conversation in place of what openAt loaded. */
    async latest(conversation: string): Promise<void> {
      await sessionOf(client).replica.history.latest(conversation);
    },

    /** Whether messages() reaches the end of a conversation. */
    reachesEnd(conversation: string): boolean {
      return client.session()?.replica.history.reachesEnd(conversation) ?? true;
    },

    /** Loads older messages; false when there are none. */
    async older(conversation: string): Promise<boolean> {
      return sessionOf(client).replica.history.older(conversation);
    },

    /** Messages by their seqs, such as those that others reply to: at most 200. Those that one may not read are left out. */
    async getMessages(conversation: string, seqs: readonly number[]): Promise<ChatMessage[]> {
      const answer = await chat.getMessages({ conversation, seqs: seqs.map(BigInt) });
      return sessionOf(client).replica.expiry.watch(answer.messages.map(toMessage));
    },

    /** Whether a message of somebody else mentions the user. */
    mentioned(m: ChatMessage): boolean {
      return m.sender !== client.me() && mentionsUser(m.content, client.me());
    },
  };
}
