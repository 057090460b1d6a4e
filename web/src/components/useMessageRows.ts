import type { ChatMessage } from "@rialto-im/client";
import { useMessages } from "@rialto-im/client/react";
import { useCallback, useLayoutEffect, useMemo, useReducer, useRef } from "react";
import { useClient } from "../client.js";
import { changeOf, type MessageRow } from "../messageRows.js";

/** The rows of a conversation's message list, how the list has to take their changes, and what loads more of them. */
export function useMessageRows(id: string) {
  const client = useClient();
  const { messages: loaded, outgoing, lastSeq, loading, hasOlder, loadOlder } = useMessages(id);
  const { messages: shown, shift, key } = useRendered(loaded);
  const reachesEnd = client.reachesEnd(id);
  const rows = useMemo<MessageRow[]>(() => [...shown.map((m) => ({ seq: m.seq, m })), ...(reachesEnd ? outgoing.map((o) => ({ seq: undefined, o })) : [])], [shown, outgoing, reachesEnd]);

  // Offline, scrolling again tries again.
  const older = useCallback(() => {
    if (hasOlder) loadOlder().catch(() => {});
  }, [hasOlder, loadOlder]);
  const newer = () => void client.newer(id).catch(() => {});
  return { rows, shown, shift, key, outgoing, lastSeq, loading, hasOlder, reachesEnd, older, newer };
}

export type MessageRows = ReturnType<typeof useMessageRows>;

/** What to render of the loaded messages, and how the list has to take the change. The key is another one where the list was replaced. */
function useRendered(loaded: readonly ChatMessage[]): { messages: readonly ChatMessage[]; shift: boolean; key: number } {
  const rendered = useRef<{ messages: readonly ChatMessage[]; key: number }>({ messages: [], key: 0 });
  const [, renderRest] = useReducer((n: number) => n + 1, 0);
  const { messages, shift, replaced } = changeOf(rendered.current.messages, loaded);
  const key = rendered.current.key + (replaced ? 1 : 0);
  useLayoutEffect(() => {
    if (messages.length > 0) rendered.current = { messages, key };
    if (messages.length < loaded.length) renderRest();
  });
  return { messages, shift, key };
}
