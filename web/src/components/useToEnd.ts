import { useLayoutEffect } from "react";
import { useClient } from "../client.js";
import { nearEnd } from "../messageRows.js";
import type { ListView } from "./useListView.js";
import type { MessageRows } from "./useMessageRows.js";

interface Deps {
  endJump: () => void;
  resized: () => void;
  markRead: () => void;
}

/** Returns what brings the newest message into view, and calls it when somebody sends one. */
export function useToEnd(view: ListView, id: string, { rows, outgoing, reachesEnd }: MessageRows, { endJump, resized, markRead }: Deps): () => void {
  const client = useClient();
  const { list, atEnd, setAway } = view;

  const toEnd = () => {
    atEnd.current = true;
    endJump();
    setAway(false);
    if (!reachesEnd) void client.latest(id).catch(() => {});
    list.current?.scrollToIndex(rows.length - 1, { align: "end", offset: nearEnd }); // to the very end, and no longer to where a jump led
    resized();
    markRead();
  };

  // What one sends oneself is shown, wherever one was reading.
  const lastSent = outgoing.at(-1)?.clientSeq;
  useLayoutEffect(() => {
    if (lastSent !== undefined) toEnd();
  }, [lastSent]);
  return toEnd;
}
