import { compareActivity, isFollowed, type ConversationView } from "../model.js";
import type { Replica } from "../replica.js";
import { sessionOf, type Context } from "./context.js";

/** Threads: conversations with the replies under one message of another conversation, their parent. */
export function threads(client: Context) {
  const { chat } = client.services;
  const take = (answer: Parameters<Replica["conversations"]["take"]>[0]): ConversationView => {
    const { replica } = sessionOf(client);
    const thread = replica.conversations.take(answer);
    replica.history.grown(thread.id);
    return thread;
  };
  const loadThread = async (thread: string): Promise<ConversationView> => take(await chat.getConversation({ conversation: thread }));
  return {
    /** The followed threads, the last active first. */
    threads(): readonly ConversationView[] {
      return client.snapshots.list("threads", () => {
        const all = client.session()?.replica.data.conversations ?? new Map<string, ConversationView>();
        return [...all.values()].filter((c) => isFollowed(c, all) && !c.deleted).sort(compareActivity);
      });
    },

    /** The thread under a message, made where there is none; the user follows it then. */
    async startThread(conversation: string, seq: number): Promise<ConversationView> {
      return take(await chat.startThread({ conversation, seq: BigInt(seq) }));
    },

    /** Reads a thread anew, also one that the user does not follow. */
    loadThread,

    /** Begins to follow a thread, or ends it: followed threads are in the stream, the list and the badge. */
    async followThread(thread: string, follow: boolean): Promise<void> {
      if (follow) await chat.join({ conversation: thread });
      else await chat.leave({ conversation: thread });
      await loadThread(thread);
    },
  };
}
