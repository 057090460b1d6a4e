import type { DecisionNotice, ListMyDecisionsResponse } from "../gen/rialto/moderation/v1/moderation_pb.js";
import type { Context } from "./context.js";

/** What moderators have decided about the user. */
export function moderation(client: Context) {
  const { moderationApi } = client.services;
  return {
    /** The warnings that the user has not acknowledged, at most 50, the newest first: show them until that is done. Read them again when the client emits "decisions". */
    async warnings(): Promise<readonly DecisionNotice[]> {
      return (await moderationApi.listMyDecisions({ unacknowledged: true, limit: 50 })).decisions;
    },

    /** Says that the user has read a warning. */
    async acknowledgeWarning(decision: string): Promise<void> {
      await moderationApi.acknowledgeDecision({ decision });
    },

    /** A page of the decisions about the user, the newest first. */
    async myDecisions(page = ""): Promise<ListMyDecisionsResponse> {
      return moderationApi.listMyDecisions({ page });
    },

    /** Appeals against a decision, once. */
    async appealDecision(decision: string, text: string): Promise<void> {
      await moderationApi.appealDecision({ decision, text });
    },
  };
}
