import { isShown, unread, type ChatMessage, type ConversationView } from "@rialto-im/client";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import { flushSync } from "react-dom";
import { useClient } from "../client.js";
import { day, sameDay } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { titleOf } from "../names.js";
import { around, down, sizes, tail, up, within } from "../window.js";
import { Bubble, OutgoingBubble, bubbleOf } from "./Bubble.js";
import { DownIcon } from "./icons.js";

const nearEnd = 80;
const nearEdge = 600;
/** So many new messages may not fit a screen, and so many are not loaded only to see where they begin. */
const worthJump = { least: 8, most: 2_000 };

/**
 * The messages of a conversation. Of thousands only a window is in the page, which follows the scrolling. It stays at the end
 * while one reads there; elsewhere the row that one looks at keeps its place, whatever comes in or changes its size.
 */
export function MessageList({ c }: { c: ConversationView }) {
  const client = useClient();
  const t = useText();
  const box = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const atEnd = useRef(true);
  const anchor = useRef<{ seq: string; top: number }>(undefined);
  const settled = useRef("");
  const loading = useRef(false);
  const [more, setMore] = useState(true);
  const [away, setAway] = useState(false);
  const all = client.messages(c.id);
  const shown = all.filter(isShown);
  const [span, setSpan] = useState(() => tail(shown));
  const { rows, above, below } = within(shown, span);
  const outgoing = client.outgoing(c.id);
  const lastSeq = all.at(-1)?.seq ?? 0;

  // Where one was reading when this was opened, for the line that says what is new, and for the way there.
  const [readAtOpen] = useState(c.readSeq);
  const [newAtOpen, setNewAtOpen] = useState(() => unread(c));
  const n = unread(c);

  const seen = useCallback(() => {
    if (atEnd.current && document.visibilityState === "visible" && document.hasFocus()) client.read(c.id, lastSeq);
  }, [client, c.id, lastSeq]);

  /** Puts the view back to where one reads. */
  const settle = useCallback(() => {
    const el = box.current;
    if (!el) return;
    settled.current = sizeOf(el);
    const at = anchor.current;
    const row = at && el.querySelector(`[data-row="${at.seq}"]`);
    if (atEnd.current) el.scrollTop = el.scrollHeight;
    else if (row) el.scrollTop += row.getBoundingClientRect().top - el.getBoundingClientRect().top - at.top;
  }, []);

  useLayoutEffect(settle, [settle, rows.length, rows[0]?.seq, outgoing.length, lastSeq, span]);
  useLayoutEffect(seen, [seen]);
  useEffect(() => {
    const watch = new ResizeObserver(settle);
    watch.observe(box.current!);
    watch.observe(content.current!);
    return () => watch.disconnect();
  }, [settle]);

  useEffect(() => {
    window.addEventListener("focus", seen);
    document.addEventListener("visibilitychange", seen);
    return () => {
      window.removeEventListener("focus", seen);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [seen]);

  const older = useCallback(async () => {
    if (loading.current || !more || client.messages(c.id).length === 0) return;
    loading.current = true;
    try {
      if (!(await client.older(c.id))) setMore(false);
      setSpan((s) => up(client.messages(c.id).filter(isShown), s));
    } catch {
      // Offline: scrolling again tries again.
    }
    loading.current = false;
  }, [client, c.id, more]);

  const scrolled = () => {
    const el = box.current;
    if (!el) return;
    // A field below that grows, or a picture that comes in, moves the view as well: that is nobody's scrolling.
    if (settled.current !== sizeOf(el)) return settle();
    const left = el.scrollHeight - el.scrollTop - el.clientHeight;
    atEnd.current = below === 0 && left < nearEnd;
    setAway(!atEnd.current);
    const first = firstInView(el);
    anchor.current = atEnd.current ? undefined : first;
    if (atEnd.current) seen();
    if (first && Number(first.seq) <= readAtOpen + 1) setNewAtOpen(0);
    if (el.scrollTop < nearEdge) {
      if (above > 0) setSpan((s) => up(shown, s));
      else void older();
    } else if (left < nearEdge && below > 0) setSpan((s) => down(shown, s));
  };

  // A list that does not fill its box cannot be scrolled: it is filled here.
  useEffect(() => {
    const el = box.current;
    if (!el || el.scrollHeight > el.clientHeight) return;
    if (above > 0) setSpan((s) => up(shown, s));
    else void older();
  }, [rows.length, above, older]);

  const toEnd = () => {
    atEnd.current = true;
    setAway(false);
    setSpan(tail(shown));
    settle();
    seen();
  };

  const toFirstNew = async () => {
    try {
      while ((client.messages(c.id)[0]?.seq ?? 0) > readAtOpen + 1 && (await client.older(c.id)));
    } catch {
      return; // offline: the way stays open
    }
    setNewAtOpen(0);
    const known = client.messages(c.id).filter(isShown);
    const first = known.find((m) => m.seq > readAtOpen);
    if (!first) return;
    atEnd.current = false;
    anchor.current = { seq: String(first.seq), top: 24 };
    // At once: an event of the scrolling before would say that one is still at the end.
    flushSync(() => {
      setAway(true);
      setSpan(around(known, first.seq));
    });
    box.current?.focus();
  };

  // What one sends oneself is shown, wherever one was reading.
  const lastSent = outgoing.at(-1)?.clientSeq;
  useLayoutEffect(() => {
    if (lastSent !== undefined) toEnd();
  }, [lastSent]);
  useEffect(() => {
    if (atEnd.current && rows.length > sizes.most) setSpan(tail(shown));
  }, [rows.length]);

  return (
    <div className="messages-frame">
      <div className="messages" ref={box} onScroll={scrolled} tabIndex={0} role="log" aria-label={titleOf(client, c)} aria-live="off" data-testid="messages">
        <div ref={content} className="content">
          {all.length === 0 && c.lastSeq > 0 && <p className="beginning">{t("loading")}</p>}
          {all.length > 0 && <p className="beginning">{above > 0 || (more && all[0]!.seq > Math.max(1, c.joinSeq)) ? <button className="link" onClick={() => (above > 0 ? setSpan(up(shown, span)) : void older())}>{t("older")}</button> : t("beginning")}</p>}
          {rows.map((m, i) => {
            const before = rows[i - 1];
            const newDay = !before || !sameDay(before.timeMs, m.timeMs);
            return (
              <div key={m.seq} data-row={m.seq}>
                {newDay && <h3 className="day">{day(m.timeMs, getLocale(), t)}</h3>}
                {isFirstNew(before, m, readAtOpen, client.me) && <p className="new-line">{t("newMessages")}</p>}
                <Bubble {...bubbleOf(client, c, m, !newDay && joins(before, m), t)} />
              </div>
            );
          })}
          {below === 0 && outgoing.map((o) => <OutgoingBubble key={`o${o.clientSeq}`} o={o} />)}
        </div>
      </div>
      {newAtOpen >= worthJump.least && newAtOpen <= worthJump.most && <button className="to-new" title={t("toFirstNew")} onClick={() => void toFirstNew()}>↑ {t("newCount", { n: newAtOpen })}</button>}
      {away && <button className="to-end" title={t("toNewest")} onClick={toEnd}><DownIcon /><span className="sr-only">{t("toNewest")}</span>{n > 0 && <b className="badge">{n > 99 ? "99+" : n}</b>}</button>}
    </div>
  );
}

/** Changes with each change of what there is to scroll. */
function sizeOf(el: HTMLElement): string {
  return `${el.clientWidth} ${el.clientHeight} ${el.scrollHeight}`;
}

/** The first row that one sees, and how far below the upper edge it begins. */
function firstInView(el: HTMLElement): { seq: string; top: number } | undefined {
  const edge = el.getBoundingClientRect().top;
  for (const row of el.querySelectorAll<HTMLElement>("[data-row]")) {
    const r = row.getBoundingClientRect();
    if (r.bottom > edge) return { seq: row.dataset["row"]!, top: r.top - edge };
  }
  return undefined;
}

function isFirstNew(before: ChatMessage | undefined, m: ChatMessage, readSeq: number, me: string): boolean {
  return before !== undefined && before.seq <= readSeq && m.seq > readSeq && m.sender !== me && m.content.kind.case !== "control" && readSeq > 1;
}

/** Messages that one sender writes one after the other belong together. */
function joins(before: ChatMessage | undefined, m: ChatMessage): boolean {
  return before !== undefined && before.sender === m.sender && before.content.kind.case !== "control" && m.timeMs - before.timeMs < 300_000;
}
