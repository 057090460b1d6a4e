import type { ChatMessage } from "@rialto-im/client";
import { useEffect, useState } from "react";
import { useClient, useOnline } from "../client.js";
import { isEmoji, moment, preview } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { Dialog } from "../ui/Dialog.js";
import { AlbumTiles, Attachment } from "./Attachment.js";
import { CardTile } from "./CardTile.js";
import { CustomMessage } from "./CustomMessage.js";
import "./forward.css";
import { LinkPreviewCard } from "./LinkPreviewCard.js";
import { MarkdownText } from "./MarkdownText.js";
import { Place } from "./Place.js";
import { Voice } from "./Voice.js";

/** What a message says. */
export function Body({ m }: { m: ChatMessage }) {
  const t = useText();
  const client = useClient();
  if (m.recallSeq) return <p className="text recalled">{t(client.user(m.sender)?.deleted ? "deletedAccountMessage" : "recalled")}</p>;
  const k = m.content.kind;
  switch (k.case) {
    case "text":
      return isEmoji(k.value) ? <p className="text big" dir="auto">{k.value}</p> : <><MarkdownText text={k.value} content={m.content} />{m.content.linkPreview && <LinkPreviewCard p={m.content.linkPreview} at={m} />}</>;
    case "image":
    case "file":
    case "video":
      return <Attachment m={m} kind={k.case} media={k.value} />;
    case "voice":
      return <Voice m={m} media={k.value} />;
    case "album":
      return <AlbumTiles m={m} album={k.value} />;
    case "location":
      return <Place place={k.value} />;
    case "card":
      return <CardTile m={m} card={k.value} />;
    case "forward":
      return <Forwarded m={m} />;
    case "custom":
      return <CustomMessage m={m} custom={k.value} />;
    default:
      return <p className="text">{preview(m, (u) => u, t)}</p>;
  }
}

/** So many messages of a card are shown in it; all are behind its button. */
const inCard = 3;

/** Messages from elsewhere: one after the other, or as a card with a title. */
function Forwarded({ m: stored }: { m: ChatMessage }) {
  const t = useText();
  const [open, setOpen] = useState(false);
  const m = usePresent(stored);
  if (m.content.kind.case !== "forward") return <p className="text recalled">{t("recalled")}</p>;
  const { title, items } = m.content.kind.value;
  if (!title) return <div className="forward" data-testid="forward"><Items m={m} /></div>;
  return (
    <div className="forward" data-testid="forward">
      <b dir="auto">{title}</b>
      <Items m={m} most={inCard} />
      <button className="link" onClick={() => setOpen(true)}>{t("showForwarded", { n: items.length })}</button>
      {open && <Dialog title={title} onClose={() => setOpen(false)}><div className="forward all"><Items m={m} /></div></Dialog>}
    </div>
  );
}

/** The messages of a forward. In a card, each is a line. */
function Items({ m, most }: { m: ChatMessage; most?: number }) {
  const client = useClient();
  const t = useText();
  if (m.content.kind.case !== "forward") return null;
  const { items } = m.content.kind.value;
  return items.slice(0, most).map((item) => {
    const who = nameOf(client, item.sender, t);
    const { content } = item;
    if (most !== undefined) return <p key={`${item.conversation}/${item.seq}`} className="forward-line" dir="auto">{who}: {content ? preview({ content }, (u) => nameOf(client, u, t), t) : t("quoteGone")}</p>;
    return (
      <section key={`${item.conversation}/${item.seq}`}>
        <small>{t("forwardedFrom", { who })} · {moment(Number(item.timeMs), getLocale())}</small>
        {content ? <Body m={{ ...m, content }} /> : <p className="text recalled">{t("quoteGone")}</p>}
      </section>
    );
  });
}

/** A message as the server has it now: what it forwards may have been edited or recalled since the device stored it. */
function usePresent(stored: ChatMessage): ChatMessage {
  const client = useClient();
  const online = useOnline();
  const [read, setRead] = useState<ChatMessage>();
  const { conversation, seq } = stored;
  useEffect(() => {
    if (!online) return;
    let stale = false;
    client.getMessages(conversation, [seq]).then(
      ([m]) => !stale && m && setRead(m),
      () => {}, // the next connection tries again
    );
    return () => {
      stale = true;
    };
  }, [client, online, conversation, seq]);
  return read ?? stored;
}
