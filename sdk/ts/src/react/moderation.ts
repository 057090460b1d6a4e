import { useCallback, useState } from "react";
import type { DecisionNotice } from "../gen/rialto/moderation/v1/moderation_pb.js";
import { useChanges } from "./changes.js";
import { useOwner, useRialto } from "./context.js";

export interface Warnings {
  /** Those that the user has not acknowledged, the newest first. */
  readonly warnings: readonly DecisionNotice[];
  /** Says that the user has read one. */
  readonly acknowledge: (decision: string) => Promise<void>;
}

const none: readonly DecisionNotice[] = [];

/** The warnings of moderators that the user has to acknowledge, with new ones as they come. */
export function useWarnings(): Warnings {
  const client = useRialto();
  const owner = useOwner();
  const [read, setRead] = useState({ owner, list: none });
  const readAgain = useCallback(() => {
    client.warnings().then((list) => setRead({ owner, list }), () => {}); // the next one finds them
  }, [client, owner]);
  useChanges("decisions", readAgain);
  const acknowledge = useCallback(
    async (decision: string) => {
      await client.acknowledgeWarning(decision);
      setRead((was) => ({ owner: was.owner, list: was.list.filter((w) => w.id !== decision) }));
    },
    [client],
  );
  return { warnings: read.owner === owner ? read.list : none, acknowledge };
}
