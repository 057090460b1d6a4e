import { badge, compareConversations, isThread, type ConversationView, type PendingSettings } from "../model.js";
import { sessionOf, type Context } from "./context.js";
import { findUser } from "./people.js";

/** The list of conversations, and the user's own part of each: read cursor and settings. */
export function conversations(client: Context) {
  const { chat } = client.services;
  return {
    /** Pinned first, then the last active first. */
    conversations(): readonly ConversationView[] {
      return client.snapshots.list("conversations", () =>
        [...(client.session()?.replica.data.conversations.values() ?? [])]
          .filter((c) => c.kind !== 0 && !c.deleted && !isThread(c))
          .sort(compareConversations)
          .map((c) => client.names.withTitle(c)),
      );
    },

    conversation(id: string): ConversationView | undefined {
      const c = client.session()?.replica.data.conversations.get(id);
      return c && client.names.withTitle(c);
    },

    /** The unread messages of all conversations and followed threads that are neither muted nor archived. */
    badge(): number {
      return badge(client.session()?.replica.data.conversations ?? new Map());
    },

    /** The one-to-one conversation with a user, by their id or handle; made where there is none. */
    async openDirect(user: string | { handle: string }): Promise<ConversationView> {
      const id = typeof user === "string" ? user : (await findUser(client, user.handle)).id;
      const { replica } = sessionOf(client);
      return client.names.withTitle(replica.conversations.take(await chat.openDirect({ user: id })));
    },

    async createGroup(title: string, members: string[]): Promise<ConversationView> {
      const { replica } = sessionOf(client);
      return replica.conversations.take(await chat.createGroup({ title, members, key: crypto.randomUUID() }));
    },

    /** Moves the read cursor to a seq. It never goes back. */
    read(conversation: string, seq: number): void {
      sessionOf(client).replica.conversations.read(conversation, seq);
    },

    /** Pins, mutes or archives a conversation, marks it as unread, or sets its draft. It shows at once, and the server is told when it can be reached. */
    async configure(conversation: string, settings: PendingSettings): Promise<void> {
      await sessionOf(client).replica.conversations.configure(conversation, settings);
    },
  };
}
