import type { ChatMessage, ConversationView, OutgoingMessage } from "@rialto-im/client";
import { useClient } from "../client.js";
import { errorText } from "../errors.js";
import { clock, controlText, isEmoji, moment, preview } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { parts } from "../links.js";
import { nameOf } from "../names.js";
import { Attachment } from "./Attachment.js";
import { UserAvatar } from "./Avatar.js";
import { Readers } from "./Readers.js";

export function Bubble({ c, m, joined }: { c: ConversationView; m: ChatMessage; joined: boolean }) {
  const client = useClient();
  const t = useText();
  const k = m.content.kind;
  if (k.case === "control") return <p className="control">{controlText(k.value, (u) => nameOf(client, u, t), t)}</p>;
  const mine = m.sender === client.me;
  const group = c.peer === "0" || c.peer === "";
  return (
    <article className={`msg ${mine ? "mine" : "theirs"} ${joined ? "joined" : ""}`} data-testid="message" data-seq={m.seq}>
      {!mine && group && <span className="msg-face">{!joined && <UserAvatar user={m.sender} size={32} />}</span>}
      <div className="bubble">
        {!mine && group && !joined && <b className="from" dir="auto">{nameOf(client, m.sender)}</b>}
        <Body m={m} />
        <footer>
          <time dateTime={new Date(m.timeMs).toISOString()} title={moment(m.timeMs, getLocale())}>{clock(m.timeMs, getLocale())}</time>
          {mine && (group ? <Readers m={m} /> : <State c={c} seq={m.seq} />)}
        </footer>
      </div>
    </article>
  );
}

function Body({ m }: { m: ChatMessage }) {
  const client = useClient();
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
      return <p className="text">{preview(m, (u) => nameOf(client, u, t), t)}</p>;
  }
}

/** Sent, delivered or read. */
function State({ c, seq }: { c: ConversationView; seq: number }) {
  const t = useText();
  const state = c.peerReadSeq >= seq ? "read" : c.peerDeliveredSeq >= seq ? "delivered" : "sent";
  return <span className={`state ${state}`} role="img" aria-label={t(state)} title={t(state)} data-testid="state">{state === "sent" ? "✓" : "✓✓"}</span>;
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
