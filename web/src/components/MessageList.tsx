import { isShown, type ChatMessage, type ConversationView } from "@rialto-im/client";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { useClient } from "../client.js";
import { day, sameDay } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { Bubble, OutgoingBubble } from "./Bubble.js";
import { DownIcon } from "./icons.js";

const nearEnd = 80;

/** The messages of a conversation: stays at the end while one reads there, and keeps its place when older ones come in. */
export function MessageList({ c }: { c: ConversationView }) {
  const client = useClient();
  const t = useText();
  const box = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const height = useRef(0);
  const loading = useRef(false);
  const [more, setMore] = useState(true);
  const [away, setAway] = useState(false);
  const all = client.messages(c.id);
  const messages = all.filter(isShown);
  const outgoing = client.outgoing(c.id);
  const first = messages[0]?.seq ?? 0;
  const lastSeq = all.at(-1)?.seq ?? 0;

  // Where one was reading when this was opened, for the line that says what is new.
  const [readAtOpen] = useState(c.readSeq);

  const seen = useCallback(() => {
    if (atEnd.current && document.visibilityState === "visible" && document.hasFocus()) client.read(c.id, lastSeq);
  }, [client, c.id, lastSeq]);

  useLayoutEffect(() => {
    const el = box.current;
    if (!el) return;
    if (atEnd.current) el.scrollTop = el.scrollHeight;
    seen();
  }, [messages.length, outgoing.length, lastSeq, seen]);

  useLayoutEffect(() => {
    const el = box.current;
    // Older messages came in above: what was in view stays where it was.
    if (el && height.current && !atEnd.current) el.scrollTop += el.scrollHeight - height.current;
    height.current = 0;
  }, [first]);

  useEffect(() => {
    window.addEventListener("focus", seen);
    document.addEventListener("visibilitychange", seen);
    return () => {
      window.removeEventListener("focus", seen);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [seen]);

  const older = useCallback(async () => {
    if (loading.current || !more || first === 0) return;
    loading.current = true;
    height.current = box.current?.scrollHeight ?? 0;
    try {
      if (!(await client.older(c.id))) setMore(false);
    } catch {
      // Offline: scrolling again tries again.
    }
    loading.current = false;
  }, [client, c.id, first, more]);

  const scrolled = () => {
    const el = box.current;
    if (!el) return;
    atEnd.current = el.scrollHeight - el.scrollTop - el.clientHeight < nearEnd;
    setAway(!atEnd.current);
    if (atEnd.current) seen();
    if (el.scrollTop < 200) void older();
  };

  useEffect(() => {
    const el = box.current;
    if (el && el.scrollHeight <= el.clientHeight) void older();
  }, [messages.length, older]);

  const toEnd = () => {
    atEnd.current = true;
    setAway(false);
    box.current?.scrollTo({ top: box.current.scrollHeight, behavior: "smooth" });
  };

  return (
    <div className="messages-frame">
      <div className="messages" ref={box} onScroll={scrolled} tabIndex={0} role="log" aria-label={t("chats")} aria-live="polite" data-testid="messages">
        <p className="beginning">{more && first > Math.max(1, c.joinSeq) ? t("older") : t("beginning")}</p>
        {messages.map((m, i) => {
          const before = messages[i - 1];
          const newDay = !before || !sameDay(before.timeMs, m.timeMs);
          return (
            <div key={m.seq}>
              {newDay && <h3 className="day">{day(m.timeMs, getLocale(), t)}</h3>}
              {isFirstNew(before, m, readAtOpen, client.me) && <p className="new-line">{t("newMessages")}</p>}
              <Bubble c={c} m={m} joined={!newDay && joins(before, m)} />
            </div>
          );
        })}
        {outgoing.map((o) => <OutgoingBubble key={`o${o.clientSeq}`} o={o} />)}
      </div>
      {away && <button className="to-end" aria-label={t("toNewest")} title={t("toNewest")} onClick={toEnd}><DownIcon /></button>}
    </div>
  );
}

function isFirstNew(before: ChatMessage | undefined, m: ChatMessage, readSeq: number, me: string): boolean {
  return before !== undefined && before.seq <= readSeq && m.seq > readSeq && m.sender !== me && m.content.kind.case !== "control" && readSeq > 1;
}

/** Messages that one sender writes one after the other belong together. */
function joins(before: ChatMessage | undefined, m: ChatMessage): boolean {
  return before !== undefined && before.sender === m.sender && before.content.kind.case !== "control" && m.timeMs - before.timeMs < 300_000;
}
