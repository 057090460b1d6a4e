import { useCallback, useEffect, useLayoutEffect, useRef } from "react";
import { useClient } from "../client.js";
import { follows, keyOf, nearEnd } from "../messageRows.js";
import { scrollOf, type ListView } from "./useListView.js";
import type { MessageRows } from "./useMessageRows.js";

/** Keeps the view at the end when rows come in or change their size, if it was there. Returns what to call after a change of sizes. */
export function useFollowEnd(view: ListView, id: string, { rows, shift, reachesEnd, older }: MessageRows, markRead: () => void): () => void {
  const client = useClient();
  const { box, atEnd, scroll, jumping } = view;

  /** After a change of sizes: stays at the end, and fills a box that cannot be scrolled. */
  const resized = useCallback(() => {
    const el = box.current;
    if (!el || jumping.current !== undefined) return;
    const now = scrollOf(el);
    if (now.view !== scroll.current.view && scroll.current.below < nearEnd && client.reachesEnd(id)) atEnd.current = true;
    else atEnd.current &&= follows(true, scroll.current, now); // somebody may have scrolled up meanwhile
    if (atEnd.current) el.scrollTop = el.scrollHeight;
    scroll.current = scrollOf(el);
    if (el.scrollHeight <= el.clientHeight) older();
    markRead(); // rows come into the page after the scrolling that shows them
  }, [client, id, older, markRead]);

  // A row that comes in at the end is followed also from a little above it. One that is loaded after a jump did not come in now.
  const lastKey = rows.at(-1) && keyOf(rows.at(-1)!);
  const reachedEnd = useRef(reachesEnd);
  useLayoutEffect(() => {
    if (scroll.current.below < nearEnd && reachesEnd && reachedEnd.current && jumping.current === undefined) atEnd.current = true;
    reachedEnd.current = reachesEnd;
  }, [lastKey, reachesEnd]);
  useLayoutEffect(resized, [resized, rows]);
  // virtua moved the view by what came in above. It has to read the new position before it measures those rows: at the upper edge it would
  // otherwise correct the old one, and the view would jump.
  useLayoutEffect(() => {
    if (shift) queueMicrotask(() => box.current?.dispatchEvent(new Event("scroll")));
  }, [shift, rows]);
  useEffect(() => {
    const watch = new ResizeObserver(resized);
    watch.observe(box.current!);
    return () => watch.disconnect();
  }, [resized]);
  return resized;
}
