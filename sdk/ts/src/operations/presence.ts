import type { PresenceView } from "../people.js";
import type { NewReaders } from "../readers.js";
import type { Context } from "./context.js";

/** What other users do at this moment: who is online, who types, and who reads. */
export function presence(client: Context) {
  return {
    /** Replaces the set of users whose presence is kept up to date: at most 500. */
    watch(users: readonly string[]): void {
      client.people.watch(users);
    },

    /** A watched user's presence. It is not known while the client is offline. */
    presence(user: string): PresenceView | undefined {
      return client.people.presence(user);
    },

    /** Reads the presence of users who are not watched, such as the members of a group who are in view. presence shows it then. */
    readPresence(users: readonly string[]): Promise<void> {
      return client.people.readPresence(users);
    },

    /** Tells whether this device is idle or in the background. In browsers the client finds out by itself. */
    setAway(away: boolean): void {
      client.session()?.connection.setAway(away);
    },

    /** Who is typing in a conversation now. */
    typing(conversation: string): readonly string[] {
      return client.snapshots.list(`typing/${conversation}`, () => client.people.typing(conversation));
    },

    /** Tells the others that the user is typing. They show it for four seconds. */
    tellTyping(conversation: string): void {
      client.session()?.connection.send({ typing: conversation });
    },

    /**
     * Reports who reads a message of this user, while the list of its readers is shown. Call the returned function when it is shown no more.
     * Read the list itself with chat.listReaders: first at the beginning, and again when told that there is more.
     */
    watchReaders(conversation: string, seq: number, told: (news: NewReaders) => void): () => void {
      return client.readers.watch(conversation, seq, told);
    },
  };
}
