import type { ChatMessage, Client, ConversationView, OutgoingMessage, User } from "@rialto-im/client";
import { memo } from "react";
import { useClient } from "../client.js";
import { errorText } from "../errors.js";
import { clock, controlText, isEmoji, moment, preview } from "../format.js";
import { getLocale, useText, type Translate } from "../i18n.js";
import { parts } from "../links.js";
import { nameOf } from "../names.js";
import { Attachment } from "./Attachment.js";
import { Avatar } from "./Avatar.js";
import { Readers } from "./Readers.js";

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
  state: State;
}

type State = "sent" | "delivered" | "read";

/** What a message is shown with: all of it can be compared, so that of many only those that changed are rendered again. */
export function bubbleOf(client: Client, c: ConversationView, m: ChatMessage, joined: boolean, t: Translate): BubbleProps {
  const k = m.content.kind;
  const mine = m.sender === client.me;
  const group = c.peer === "0" || c.peer === "";
  const name = (u: string) => nameOf(client, u, t);
  return {
    m,
    joined,
    group,
    mine,
    name: k.case === "control" ? controlText(k.value, name, t) : !mine && group ? nameOf(client, m.sender) : "",
    sender: !mine && group && !joined ? client.user(m.sender) : undefined,
    state: !mine || group ? "sent" : c.peerReadSeq >= m.seq ? "read" : c.peerDeliveredSeq >= m.seq ? "delivered" : "sent",
  };
}

export const Bubble = memo(function Bubble({ m, joined, group, mine, name, sender, state }: BubbleProps) {
  const t = useText();
  if (m.content.kind.case === "control") return <p className="control">{name}</p>;
  return (
    <article className={`msg ${mine ? "mine" : "theirs"} ${joined ? "joined" : ""}`} data-testid="message" data-seq={m.seq}>
      {!mine && group && <span className="msg-face">{!joined && <Avatar id={m.sender} name={sender?.displayName ?? ""} url={sender?.avatarUrl} size={32} />}</span>}
      <div className="bubble">
        {!mine && group && !joined && <b className="from" dir="auto">{name}</b>}
        <Body m={m} />
        <footer>
          <time dateTime={new Date(m.timeMs).toISOString()} title={moment(m.timeMs, getLocale())}>{clock(m.timeMs, getLocale())}</time>
          {mine && (group ? <Readers m={m} /> : <span className={`state ${state}`} role="img" aria-label={t(state)} title={t(state)} data-testid="state">{state === "sent" ? "✓" : "✓✓"}</span>)}
        </footer>
      </div>
    </article>
  );
});

function Body({ m }: { m: ChatMessage }) {
  const t = useText();
  const k = m.content.kind;
  switch (k.case) {
    case "text":
      return <p className={isEmoji(k.value) ? "text big" : "text"} dir="auto">{parts(k.value).map((p, i) => (p.href ? <a key={i} href={p.href} target="_blank" rel="noopener noreferrer nofollow">{p.text}</a> : p.text))}</p>;
    case "image":
    case "file":
    case "voice":
    case "video":
      return <Attachment m={m} kind={k.case} media={k.value} />;
    default:
      return <p className="text">{preview(m, (u) => u, t)}</p>;
  }
}

export function OutgoingBubble({ o }: { o: OutgoingMessage }) {
  const client = useClient();
  const t = useText();
  const text = o.content.kind.case === "text" ? o.content.kind.value : preview(o, (u) => nameOf(client, u, t), t);
  return (
    <article className="msg mine pending" data-testid="outgoing">
      <div className="bubble">
        <p className="text" dir="auto">{text}</p>
        <footer>
          {o.failed ? (
            <span className="failed">
              {t("failed", { why: errorText(o.failed) })}{" "}
              <button className="link" onClick={() => void client.retry(o.clientSeq)}>{t("retry")}</button>
              <button className="link" onClick={() => void client.discard(o.clientSeq)}>{t("discard")}</button>
            </span>
          ) : (
            <span>{t(client.connection === "online" ? "sending" : "waiting")} ◷</span>
          )}
        </footer>
      </div>
    </article>
  );
}
