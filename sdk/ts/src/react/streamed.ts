import { useEffect } from "react";
import type { StreamedView } from "../streamed.js";
import { useRialto, useSnapshot } from "./context.js";

/** The text so far of a message that its sender is still writing. */
export function useStreamed(conversation: string, seq: number): StreamedView {
  const client = useRialto();
  useEffect(() => client.streamed.watch(conversation, seq), [client, conversation, seq]);
  return useSnapshot((c) => c.streamed.view(conversation, seq));
}
