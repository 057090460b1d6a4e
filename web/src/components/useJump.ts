import { isShown } from "@rialto-im/client";
import { useEffect, useRef, useState } from "react";
import { useClient } from "../client.js";
import { indexFrom } from "../messageRows.js";
import { scrollOf, type ListView } from "./useListView.js";
import type { MessageRows } from "./useMessageRows.js";

/** How far below the upper edge a message is that one jumps to, in pixels. */
const jumpTop = 24;
/** A jump that has not led there after so many frames is tried again. */
const framesOfScroll = 20;

/** Returns what starts a jump to a message, what ends it, and the handler of scrolling by hand, which ends it, too. */
export function useJump(view: ListView, id: string, { shown }: MessageRows) {
  const client = useClient();
  const { box, list, atEnd, scroll, setAway, opening, jumping, latestScrolled } = view;
  /** The message that is being brought into view: it may not be in the page yet. */
  const [jump, setJump] = useState<number>();
  const turns = useRef(0);

  /**
   * Brings the first message at or after a seq into view. False where it cannot be loaded now. The last jump wins: one that is asked for while the
   * chat still opens is not undone when that ends.
   */
  const jumpTo = async (wanted: number): Promise<boolean> => {
    const turn = ++turns.current;
    const loaded = await client.openAt(id, wanted).then(() => true, () => false);
    if (turn !== turns.current) return true;
    const first = loaded ? client.messages(id).find((m) => m.seq >= wanted && isShown(m)) : undefined;
    if (!first) {
      opening.current = false;
      return false;
    }
    atEnd.current = false;
    jumping.current = first.seq;
    setAway(true);
    setJump(first.seq);
    return true;
  };
  const endJump = () => {
    jumping.current = undefined;
    opening.current = false;
    setJump(undefined);
  };

  // A jump ends when the message is where it belongs, or as near as the list's ends allow.
  const jumpIndex = jump === undefined ? -1 : indexFrom(shown, jump);
  const isLoaded = shown[jumpIndex]?.seq === jump;
  useEffect(() => {
    if (jump === undefined || !isLoaded) return;
    let frames = 0;
    let frame = requestAnimationFrame(function look() {
      if (jumping.current !== jump) return;
      if (!isInPlace(box.current!, jump)) {
        // virtua corrects the position while rows are measured, and stops when none was for a moment: on a slow device, too early.
        if (frames++ % framesOfScroll === 0) list.current?.scrollToIndex(jumpIndex, { align: "start", offset: -jumpTop });
        return void (frame = requestAnimationFrame(look));
      }
      endJump();
      scroll.current = scrollOf(box.current!);
      latestScrolled.current();
    });
    return () => cancelAnimationFrame(frame);
  }, [jump, isLoaded, jumpIndex]);
  /** Who scrolls while a jump is under way goes elsewhere. */
  const takeOver = () => {
    if (jumping.current === undefined) return;
    endJump();
  };
  /** Whether a jump was asked for, also before the first messages are there. */
  const jumpAsked = () => turns.current > 0;
  return { jumpTo, jumpAsked, endJump, takeOver };
}

/** Whether a message is where a jump brings it, or as near as the ends allow. */
function isInPlace(box: HTMLElement, seq: number): boolean {
  const row = box.querySelector(`[data-row="${seq}"]`)?.getBoundingClientRect();
  if (!row) return false;
  const view = box.getBoundingClientRect();
  const atEdge = box.scrollTop < 1 || box.scrollHeight - box.scrollTop - box.clientHeight < 1;
  return Math.abs(row.top - view.top - jumpTop) < 2 || (atEdge && row.top >= view.top && row.top < view.bottom);
}
