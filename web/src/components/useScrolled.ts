import { useClient } from "../client.js";
import { firstInView } from "../inView.js";
import { follows, nearEnd } from "../messageRows.js";
import { scrollOf, type ListView } from "./useListView.js";
import type { MessageRows } from "./useMessageRows.js";

/** Within so many pixels of the first or last loaded message, more are loaded. */
const nearEdge = 600;

interface Deps {
  resized: () => void;
  markRead: () => void;
  readAtOpen: number;
  setNewAtOpen: (n: number) => void;
}

/** Returns the handler of scrolling: it decides whether the view follows the end, marks messages as read, and loads more near an edge. */
export function useScrolled(view: ListView, id: string, { older, newer }: MessageRows, { resized, markRead, readAtOpen, setNewAtOpen }: Deps): () => void {
  const client = useClient();
  const { box, atEnd, scroll, setAway, jumping, latestScrolled } = view;

  const scrolled = () => {
    const el = box.current;
    if (!el || jumping.current !== undefined) return;
    const now = scrollOf(el);
    const whole = client.reachesEnd(id);
    atEnd.current = whole && follows(atEnd.current, scroll.current, now);
    scroll.current = now;
    if (atEnd.current && now.below >= nearEnd) return resized(); // a field below grew, or a picture came in
    setAway(!whole || (!atEnd.current && now.below >= nearEnd));
    markRead();
    if (Number(firstInView(el)) <= readAtOpen + 1) setNewAtOpen(0);
    if (el.scrollTop < nearEdge) older();
    else if (now.below < nearEdge && !whole) newer();
  };
  latestScrolled.current = scrolled;
  return scrolled;
}
