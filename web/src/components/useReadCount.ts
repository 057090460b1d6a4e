import type { ChatMessage } from "@rialto-im/client";
import { useEffect, useState } from "react";
import { useClient, useOnline } from "../client.js";

/** The first page of readers; of more, "200+" is shown. */
const most = 200;
/** How long after a count the readers are counted again, in milliseconds: twice as long each time, up to the longest. */
const firstMs = 3_000;
const longestMs = 300_000;

/**
 * How many users have read a message of one's own, such as "12" or "200+": undefined while nobody has, or it is not wanted. It is counted again at growing
 * intervals, while the page is seen and somebody has not read it: a live list for everybody who has a chat open would cost each node too much.
 */
export function useReadCount(m: ChatMessage, wanted: boolean): string | undefined {
  const client = useClient();
  const online = useOnline();
  const [readers, setReaders] = useState({ n: 0, more: false });
  const { conversation, seq } = m;
  useEffect(() => {
    if (!wanted || !online) return;
    let stale = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const count = async (nextMs: number): Promise<void> => {
      const { users, next } = await client.chat.listReaders({ conversation, seq: BigInt(seq), limit: most });
      if (stale) return;
      setReaders({ n: users.length, more: next !== "" });
      const others = (client.conversation(conversation)?.memberCount ?? 0) - 1;
      if (next === "" && users.length < others) timer = setTimeout(() => start(nextMs), nextMs);
    };
    // What cannot be counted stays as it was until the chat is opened again.
    const start = (waitMs: number) => void (document.hidden || count(Math.min(2 * waitMs, longestMs)).catch(() => {}));
    const seen = () => {
      clearTimeout(timer);
      start(firstMs / 2);
    };
    start(firstMs / 2);
    document.addEventListener("visibilitychange", seen);
    return () => {
      stale = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [client, conversation, seq, wanted, online]);
  return wanted && readers.n > 0 ? `${readers.n}${readers.more ? "+" : ""}` : undefined;
}
