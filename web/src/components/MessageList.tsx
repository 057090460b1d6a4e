import { isThread, unread, type ChatMessage, type ConversationView, type OutgoingMessage } from "@rialto-im/client";
import { useState } from "react";
import { Virtualizer } from "virtua";
import { useClient } from "../client.js";
import { day, sameDay } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { keyOf, ticketStatusBefore, type MessageRow } from "../messageRows.js";
import { titleOf } from "../names.js";
import { Bubble, OutgoingBubble, bubbleOf } from "./Bubble.js";
import { EmptyChat } from "./EmptyChat.js";
import { Selectable } from "./ForwardActions.js";
import { DownIcon } from "./icons.js";
import { useFollowEnd } from "./useFollowEnd.js";
import { useJump } from "./useJump.js";
import { useListView } from "./useListView.js";
import { useMessageRows } from "./useMessageRows.js";
import { useOpenAt } from "./useOpenAt.js";
import { useReadCursor, useReadInView } from "./useReadCursor.js";
import { useScrolled } from "./useScrolled.js";
import { useToEnd } from "./useToEnd.js";
import { Tip } from "../ui/Tip.js";

/** Rows within so many pixels of the view are in the page: one turn of a wheel does not show a row whose size is not known. */
const nearView = 400;
/** So many new messages may not fit a screen. */
const worthJump = 8;
/** Height of what stands above the first message, in pixels: see .beginning. */
const headHeight = 44;
/** The longest time between two messages of one sender that belong together. */
const joinedMs = 300_000;

/**
 * The messages of a conversation. virtua keeps those near the view in the page, and the place where one reads, whatever comes in or
 * changes its size. At the end, the list follows the end instead.
 */
export function MessageList({ c, seq }: { c: ConversationView; seq?: number | undefined }) {
  const client = useClient();
  const t = useText();
  const messages = useMessageRows(c.id);
  const { rows, shown, shift, key, outgoing, lastSeq, loading, hasOlder, older } = messages;

  // Where one was reading when this was opened, for the line that says what is new, and for the way there.
  const [readAtOpen] = useState(c.readSeq);
  const [newAtOpen, setNewAtOpen] = useState(() => unread(c));
  const [arrived] = useState(newAtOpen);
  const n = unread(c);

  const view = useListView(arrived > 0 && seq === undefined);
  const { box, list, away } = view;
  // The effects run in the order of these hooks: the view settles after a change of sizes before messages are marked as read.
  const markRead = useReadCursor(view, c.id, messages);
  const resized = useFollowEnd(view, c.id, messages, markRead);
  useReadInView(markRead);
  const scrolled = useScrolled(view, c.id, messages, { resized, markRead, readAtOpen, setNewAtOpen });
  const jumps = useJump(view, c.id, messages);
  const { jumpTo, endJump, takeOver } = jumps;
  useOpenAt(view, seq, readAtOpen, lastSeq, jumps);
  const toEnd = useToEnd(view, c.id, messages, { endJump, resized, markRead });

  const toFirstNew = async () => {
    if (await jumpTo(readAtOpen + 1)) setNewAtOpen(0);
    box.current?.focus();
  };

  const toMention = async () => {
    if (c.mentions[0] !== undefined) await jumpTo(c.mentions[0]);
    box.current?.focus();
  };

  const newestOwn = c.large ? undefined : shown.findLast((m) => m.sender === client.me && !m.recallSeq && m.content.kind.case !== "control")?.seq;
  const renderRow = (row: MessageRow, i: number) => {
    if (row.seq === undefined) return <OutgoingBubble key={keyOf(row)} o={row.o} joined={joinsOutgoing(rows[i - 1], row.o, client.me)} />;
    const { m } = row;
    const before = shown[i - 1];
    const newDay = before ? !sameDay(before.timeMs, m.timeMs) : !hasOlder; // a heading that goes when older messages come would move the view
    return (
      <div key={keyOf(row)} data-row={m.seq} className={m.seq === seq ? "named" : undefined}>
        {newDay && <h3 className="day">{day(m.timeMs, getLocale())}</h3>}
        {isFirstNew(before, m, readAtOpen, client.me) && <p className="new-line">{arrived > 0 ? t("arrivedAway", { n: arrived }) : t("newMessages")}</p>}
        <Selectable m={m}><Bubble {...bubbleOf(client, c, m, !newDay && joins(before, m), t, c.ticket ? ticketStatusBefore(shown, i) : undefined)} counted={m.seq === newestOwn} /></Selectable>
      </div>
    );
  };

  return (
    <div className="messages-frame">
      <div className="messages" ref={box} onScroll={scrolled} onWheel={takeOver} onTouchMove={takeOver} onKeyDown={takeOver} tabIndex={0} role="log" aria-label={titleOf(c)} aria-live="off" aria-busy={loading} data-testid="messages">
        <div className="content">
          <p className="beginning">{lastSeq === 0 ? loading && t("loading") : hasOlder ? <button className="link" onClick={older}>{t("older")}</button> : t(isThread(c) ? "beginningOfThread" : "beginning")}</p>
          <Virtualizer key={key} ref={list} scrollRef={box} data={rows} shift={shift} startMargin={headHeight} bufferSize={nearView} onResize={resized}>{renderRow}</Virtualizer>
          {lastSeq > 0 && !hasOlder && outgoing.length === 0 && shown.every((m) => m.content.kind.case === "control") && <EmptyChat c={c} />}
        </div>
      </div>
      {newAtOpen >= worthJump && <Tip label={t("toFirstNew")}><button className="to-new" onClick={() => void toFirstNew()}>↑ {t("newCount", { n: newAtOpen })}</button></Tip>}
      {c.mentions.length > 0 && <Tip label={t("toMention")} side="top"><button className="to-mention" onClick={() => void toMention()} data-testid="to-mention"><span aria-hidden="true">@</span><span className="sr-only">{t("toMention")}</span>{c.mentions.length > 1 && <b className="badge">{c.mentions.length > 99 ? "99+" : c.mentions.length}</b>}</button></Tip>}
      {away && <Tip label={t("toNewest")} side="top"><button className="to-end" onClick={toEnd}><DownIcon /><span className="sr-only">{t("toNewest")}</span>{n > 0 && <b className="badge">{n > 99 ? "99+" : n}</b>}</button></Tip>}
    </div>
  );
}

function isFirstNew(before: ChatMessage | undefined, m: ChatMessage, readSeq: number, me: string): boolean {
  return before !== undefined && before.seq <= readSeq && m.seq > readSeq && m.sender !== me && m.content.kind.case !== "control" && readSeq > 1;
}

/** Whether a message that is on its way will belong to the row before it. */
function joinsOutgoing(before: MessageRow | undefined, o: OutgoingMessage, me: string): boolean {
  if (!before || before.seq === undefined) return before !== undefined && o.createdMs - before.o.createdMs < joinedMs;
  return before.m.sender === me && before.m.content.kind.case !== "control" && sameDay(before.m.timeMs, o.createdMs) && o.createdMs - before.m.timeMs < joinedMs;
}

/** Messages that one sender writes one after the other belong together. */
function joins(before: ChatMessage | undefined, m: ChatMessage): boolean {
  return before !== undefined && before.sender === m.sender && before.content.kind.case !== "control" && m.timeMs - before.timeMs < joinedMs;
}
