import { useEffect, useRef } from "react";
import { useOnline } from "../client.js";
import { useOpened, usePlace } from "../routes.js";
import type { useJump } from "./useJump.js";
import type { ListView } from "./useListView.js";

/** Opens a conversation at the message that the address names, or else at the first new one. */
export function useOpenAt(view: ListView, seq: number | undefined, readAtOpen: number, lastSeq: number, { jumpTo, jumpAsked }: Pick<ReturnType<typeof useJump>, "jumpTo" | "jumpAsked">): void {
  const online = useOnline();
  const { opening, latestScrolled } = view;

  // A chat with new messages opens at the first of them, unless one has gone elsewhere already. Where they cannot be loaded, it opens at its end.
  useEffect(() => {
    if (!opening.current || lastSeq === 0 || jumpAsked()) return;
    void jumpTo(readAtOpen + 1).then((found) => {
      if (!found) latestScrolled.current();
    });
  }, [lastSeq > 0]);

  // The message that the address names. Without a network it is tried again with the next.
  const named = useRef<string>(undefined);
  const newest = lastSeq || undefined;
  const opened = useOpened();
  const isSearching = usePlace().area === "search"; // above the chat, which stays as it is
  useEffect(() => {
    const name = `${seq} ${opened ?? ""}`;
    if (seq === undefined || isSearching || name === named.current || newest === undefined) return;
    const before = named.current;
    named.current = name;
    void jumpTo(seq).then((found) => {
      if (!found && named.current === name) named.current = before;
    });
  }, [seq, opened, isSearching, newest, online]);
}
