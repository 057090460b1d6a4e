import type { GroupInvitation } from "../model.js";
import { none } from "../snapshots.js";
import { sessionOf, type Context } from "./context.js";

/** Invitations of the user to groups. */
export function invitations(client: Context) {
  const { chat } = client.services;
  return {
    /** Invitations to groups that wait for an answer, the newest first. */
    invitations(): readonly GroupInvitation[] {
      return client.session()?.invitations.current ?? none;
    },

    /** Joins the group of an invitation, which is known then, or declines it. */
    async answerInvitation(conversation: string, accept: boolean): Promise<void> {
      const session = sessionOf(client);
      await chat.answerInvitation({ conversation, accept });
      await session.invitations.changed();
      if (accept) session.replica.conversations.take(await chat.getConversation({ conversation }));
    },
  };
}
