import { useCallback, useEffect, useLayoutEffect } from "react";
import { useClient } from "../client.js";
import { lastInView } from "../inView.js";
import type { ListView } from "./useListView.js";
import type { MessageRows } from "./useMessageRows.js";

/** Returns what moves the read cursor of a conversation: to the last message in view, or to the newest where the view follows the end. */
export function useReadCursor(view: ListView, id: string, { lastSeq, reachesEnd }: MessageRows): () => void {
  const client = useClient();
  const { box, atEnd, opening } = view;
  return useCallback(() => {
    if (opening.current || !box.current || document.visibilityState !== "visible" || !document.hasFocus()) return;
    client.read(id, atEnd.current && client.reachesEnd(id) ? lastSeq : lastInView(box.current));
  }, [client, id, lastSeq, reachesEnd]);
}

/** Marks what is in view as read when messages come in and when somebody returns to the page. */
export function useReadInView(markRead: () => void): void {
  useLayoutEffect(markRead, [markRead]);
  useEffect(() => {
    window.addEventListener("focus", markRead);
    document.addEventListener("visibilitychange", markRead);
    return () => {
      window.removeEventListener("focus", markRead);
      document.removeEventListener("visibilitychange", markRead);
    };
  }, [markRead]);
}
