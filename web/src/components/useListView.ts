import { useRef, useState } from "react";
import type { VirtualizerHandle } from "virtua";
import type { Scroll } from "../messageRows.js";

/** What the hooks of a message list share about its view. Most of it is in refs, since scrolling does not render the list. */
export function useListView(openAtNew: boolean) {
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<VirtualizerHandle>(null);
  /** Whether the view follows the end. */
  const atEnd = useRef(true);
  const scroll = useRef<Scroll>({ view: 0, above: 0, below: 0 });
  /** Whether to offer the way to the end. */
  const [away, setAway] = useState(false);
  /** It opens at the first new message: until that is in view, nothing is read. */
  const opening = useRef(openAtNew);
  /** The message that is being brought into view. */
  const jumping = useRef<number>(undefined);
  /** Handles scrolling, as of the latest rendering. */
  const latestScrolled = useRef(() => {});
  return { box, list, atEnd, scroll, away, setAway, opening, jumping, latestScrolled };
}

export type ListView = ReturnType<typeof useListView>;

/** Where a box stands in what it scrolls through. */
export function scrollOf(el: HTMLElement): Scroll {
  return { view: el.clientHeight, above: el.scrollTop, below: el.scrollHeight - el.scrollTop - el.clientHeight };
}
