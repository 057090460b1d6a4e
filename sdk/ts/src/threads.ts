import type { ServiceClient } from "./api.js";
import { Deletions } from "./deletions.js";
import type { ChatService } from "./gen/rialto/chat/v1/chat_pb.js";
import { badge, compareActivity, isFollowed, type ConversationView } from "./model.js";
import type { Replica } from "./replica.js";
import type { Snapshots } from "./snapshots.js";

/** Threads has the calls for threads: conversations with the replies under one message of another conversation, their parent. */
export abstract class Threads extends Deletions {
  abstract readonly chat: ServiceClient<typeof ChatService>;
  protected abstract readonly snapshots: Snapshots;

  /** The unread messages of all conversations and followed threads that are neither muted nor archived. */
  badge(): number {
    return badge(this.session?.replica.data.conversations ?? new Map());
  }

  /** The followed threads, the last active first. */
  threads(): readonly ConversationView[] {
    return this.snapshots.list("threads", () => {
      const all = this.session?.replica.data.conversations ?? new Map<string, ConversationView>();
      return [...all.values()].filter((c) => isFollowed(c, all) && !c.deleted).sort(compareActivity);
    });
  }

  /** The thread under a message, made where there is none; the user follows it then. */
  async startThread(conversation: string, seq: number): Promise<ConversationView> {
    return this.takeThread(await this.chat.startThread({ conversation, seq: BigInt(seq) }));
  }

  /** Reads a thread anew, also one that the user does not follow. */
  async loadThread(thread: string): Promise<ConversationView> {
    return this.takeThread(await this.chat.getConversation({ conversation: thread }));
  }

  /** Begins to follow a thread, or ends it: followed threads are in the stream, the list and the badge. */
  async followThread(thread: string, follow: boolean): Promise<void> {
    if (follow) await this.chat.join({ conversation: thread });
    else await this.chat.leave({ conversation: thread });
    await this.loadThread(thread);
  }

  private takeThread(answer: Parameters<Replica["conversations"]["take"]>[0]): ConversationView {
    const { replica } = this.current;
    const thread = replica.conversations.take(answer);
    replica.history.grown(thread.id);
    return thread;
  }
}
