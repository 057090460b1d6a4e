import { isThread, Role, type ChatMessage, type Client, type ConversationView, type OutgoingMessage, type TicketStatus, type User } from "@rialto-im/client";
import { memo, type ReactElement } from "react";
import { Link } from "wouter";
import { useClient } from "../client.js";
import { errorText } from "../errors.js";
import { clock, controlText, moment, preview } from "../format.js";
import { ticketLine } from "../ticketText.js";
import { getLocale, useText, type Translate } from "../i18n.js";
import { nameOf } from "../names.js";
import { path } from "../routes.js";
import { canReact, canWrite } from "../roles.js";
import { isSaved } from "../saved.js";
import { Tip } from "../ui/Tip.js";
import { Avatar, hueOf } from "./Avatar.js";
import { Body } from "./Body.js";
import "./bubble.css";
import { Deliveries, type DeliveryState } from "./Deliveries.js";
import { EditedMark } from "./EditHistory.js";
import { ClockIcon, PinIcon } from "./icons.js";
import { LinkPreviewCard } from "./LinkPreviewCard.js";
import { MarkdownText } from "./MarkdownText.js";
import { MessageContextMenu, MessageMenu, OutgoingMenu, useReply, useReplyToOutgoing } from "./MessageMenu.js";
import { OutgoingQuote, Quote } from "./Quote.js";
import { Reactions } from "./Reactions.js";
import { Readers } from "./Readers.js";
import { ThreadLink } from "./ThreadLink.js";
import { BrokenOffMark, StreamedBody } from "./Streamed.js";
import { useSwipe } from "./useSwipe.js";

export interface BubbleProps {
  m: ChatMessage;
  /** Follows one of the same sender. */
  joined: boolean;
  group: boolean;
  mine: boolean;
  /** Its sender's name; of a control entry, what it says. */
  name: string;
  sender: User | undefined;
  /** Sent, delivered or read, of one's own to one person. */
  state: DeliveryState;
  /** Whether one may change what others see here. */
  manages: boolean;
  writes: boolean;
  reacts: boolean;
  /** Whether messages here can have threads. */
  threads: boolean;
  /** It mentions the one who reads. */
  mentioned: boolean;
  /** Whether it shows how many have read it. */
  counted?: boolean;
}

/**
 * What a message is shown with: all of it can be compared, so that of many only those that changed are rendered again. before: the
 * status that a ticket had before this entry, as ticketStatusBefore gives it.
 */
export function bubbleOf(client: Client, c: ConversationView, m: ChatMessage, joined: boolean, t: Translate, before?: TicketStatus): BubbleProps {
  const k = m.content.kind;
  const mine = m.sender === client.me;
  const group = c.peer === "0" || c.peer === "";
  const name = (u: string) => nameOf(client, u, t);
  return {
    m,
    joined,
    group,
    mine,
    name: k.case !== "control" ? name(m.sender) : c.ticket ? ticketLine(k.value, name, t, before) : controlText(k.value, name, t, c),
    sender: !mine && group && !joined ? client.user(m.sender) : undefined,
    state: !mine || group ? "sent" : c.peerReadSeq >= m.seq ? "read" : c.peerDeliveredSeq >= m.seq ? "delivered" : "sent",
    manages: group && c.role >= Role.ADMIN,
    writes: canWrite(c),
    reacts: canReact(c),
    threads: !isThread(c) && !c.channel && !c.ticket && !isSaved(c),
    mentioned: client.mentioned(m),
  };
}

export const Bubble = memo(function Bubble({ m, joined, group, mine, name, sender, state, manages, writes, reacts, threads, mentioned, counted = false }: BubbleProps) {
  const t = useText();
  const reply = useReply(m);
  const swipe = useSwipe(writes && !m.recallSeq ? reply : undefined);
  if (m.content.kind.case === "control") return name && <p className="control">{name}</p>;
  const answered = Number(m.content.replyTo?.seq ?? 0n);
  const article = (
    <article className={`msg ${mine ? "mine" : "theirs"} ${joined ? "joined" : ""} ${mentioned ? "mentioned" : ""}`} aria-label={t("messageOf", { who: name, when: clock(m.timeMs, getLocale()) })} data-testid="message" data-seq={m.seq}>
      {!mine && group && <span className="msg-face">{!joined && <Link href={path.user(m.sender)} tabIndex={-1} aria-label={name}><Avatar id={m.sender} name={sender?.displayName ?? ""} url={sender?.avatarUrl} size={32} /></Link>}</span>}
      <div className="bubble" {...swipe}>
        {!mine && group && !joined && <b className="from" dir="auto" style={{ ["--hue" as string]: hueOf(m.sender) }}>{m.content.bridge ? <span className="marked"><span>{name}</span><small className="via"> · {m.content.bridge}</small></span> : name}</b>}
        {answered > 0 && <Quote conversation={m.conversation} seq={answered} link />}
        <div className="line">
          {m.content.kind.case === "streamed" && !m.recallSeq ? <StreamedBody m={m} manages={manages} group={group} /> : <Body m={m} />}
          {m.content.brokenOff && <BrokenOffMark why={m.content.brokenOff} />}
          {mine && m.bridgeDeliveries?.filter((d) => !d.externalId).map((d) => <p key={d.bridge} className="not-delivered" data-testid="not-delivered">{t("notDelivered", { where: d.bridge, why: d.text || d.reason })}</p>)}
          <footer>
            {mentioned && <Tip label={t("mentionsYou")} side="top"><b className="mark" role="img" aria-label={t("mentionsYou")}>@</b></Tip>}
            {m.pinned && <Tip label={t("pinnedMessage")} side="top"><span className="mark" role="img" aria-label={t("pinnedMessage")}><PinIcon /></span></Tip>}
            {!!m.editedMs && <EditedMark m={m} />}
            <Tip label={moment(m.timeMs, getLocale())} side="top"><Link href={path.message(m.conversation, m.seq)} tabIndex={-1}><time dateTime={new Date(m.timeMs).toISOString()}>{clock(m.timeMs, getLocale())}</time></Link></Tip>
            {mine && (group ? <Readers m={m} counted={counted} /> : <Deliveries m={m} state={state} />)}
          </footer>
        </div>
        <Reactions m={m} reacts={reacts} />
        {threads && <ThreadLink m={m} />}
        {!m.recallSeq && <MessageMenu m={m} name={name} mine={mine} group={group} manages={manages} writes={writes} reacts={reacts} threads={threads} />}
      </div>
    </article>
  );
  return m.recallSeq ? article : <MessageContextMenu m={m} mine={mine} group={group} manages={manages} writes={writes} reacts={reacts} threads={threads}>{article}</MessageContextMenu>;
});

/** joined: it follows one's own message, as in BubbleProps. */
export function OutgoingBubble({ o, joined }: { o: OutgoingMessage; joined: boolean }) {
  const client = useClient();
  const t = useText();
  const pending = t(client.connection === "online" ? "sending" : "waiting");
  const text = o.text || preview(o, (u) => nameOf(client, u, t), t);
  const reply = useReplyToOutgoing(o);
  const swipe = useSwipe(o.failed ? undefined : reply);
  const answered = o.content.replyTo;
  const article = (menu?: ReactElement) => (
    <article className={`msg mine pending ${joined ? "joined" : ""}`} aria-label={t("messageOf", { who: t("you"), when: clock(o.createdMs, getLocale()) })} data-testid="outgoing">
      <div className="bubble" {...swipe}>
        {answered && (answered.clientSeq ? <OutgoingQuote conversation={o.conversation} clientSeq={Number(answered.clientSeq)} /> : <Quote conversation={o.conversation} seq={Number(answered.seq)} />)}
        <div className="line">
          {o.content.kind.case === "text" ? <><MarkdownText text={text} content={o.content} />{o.content.linkPreview && <LinkPreviewCard p={o.content.linkPreview} />}</> : <p className="text" dir="auto">{text}</p>}
          <footer>
            {o.failed ? (
              <span className="failed">
                <span>{t("failed", { why: errorText(o.failed) })}</span>
                <button className="link" onClick={() => void client.retry(o.clientSeq)}>{t("retry")}</button>
                <button className="link" onClick={() => void client.discard(o.clientSeq)}>{t("discard")}</button>
              </span>
            ) : (
              <>
                <time dateTime={new Date(o.createdMs).toISOString()}>{clock(o.createdMs, getLocale())}</time>
                <Tip label={pending} side="top"><span className="state pending" role="img" aria-label={pending} data-testid="state"><ClockIcon /></span></Tip>
              </>
            )}
          </footer>
        </div>
        {menu}
      </div>
    </article>
  );
  return o.failed ? article() : <OutgoingMenu o={o}>{article}</OutgoingMenu>;
}
