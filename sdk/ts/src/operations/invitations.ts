import type { GroupInvitation, OrganizationInvitation } from "../model.js";
import { none } from "../snapshots.js";
import { sessionOf, type Context } from "./context.js";

/** Invitations of the user to groups and organizations. */
export function invitations(client: Context) {
  const { chat, organizationApi } = client.services;
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

    /** Invitations to organizations that wait for an answer, the newest first. */
    organizationInvitations(): readonly OrganizationInvitation[] {
      return client.session()?.organizationInvitations.current ?? none;
    },

    /** Becomes a member of the organization of an invitation, or declines it. */
    async answerOrganizationInvitation(organization: string, accept: boolean): Promise<void> {
      const session = sessionOf(client);
      await organizationApi.answerOrganizationInvitation({ organization, accept });
      await session.organizationInvitations.changed();
    },
  };
}
