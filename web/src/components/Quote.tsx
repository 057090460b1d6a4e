import type { ChatMessage } from "@rialto-im/client";
import { useSnapshot } from "@rialto-im/client/react";
import { useEffect, useState } from "react";
import { Link } from "wouter";
import { useClient, useOnline } from "../client.js";
import { preview } from "../format.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { path } from "../routes.js";
import { hueOf } from "./Avatar.js";
import "./quote.css";

/** A message that another one answers, in two lines. It is read where it is not loaded, and always as it is now. */
export function Quote({ conversation, seq, link }: { conversation: string; seq: number; link?: boolean }) {
  const client = useClient();
  const t = useText();
  const m = useMessage(conversation, seq);
  const name = (u: string) => nameOf(client, u, t);
  const content = (
    <>
      {m && <b dir="auto">{name(m.sender)}</b>}
      <span dir="auto">{m === undefined ? t("loading") : m === null ? t("quoteGone") : preview(m, name, t, client.conversation(conversation))}</span>
    </>
  );
  const style = { ["--hue" as string]: m ? hueOf(m.sender) : "220" };
  return link && m ? <Link className="quote" style={style} href={path.message(conversation, seq)}>{content}</Link> : <div className="quote" style={style}>{content}</div>;
}

/** One's own message that another one answers, which was on its way then. */
export function OutgoingQuote({ conversation, clientSeq }: { conversation: string; clientSeq: number }) {
  const client = useClient();
  const t = useText();
  const m = useSnapshot((c) => c.outgoing(conversation).find((o) => o.clientSeq === clientSeq) ?? c.messages(conversation).findLast((m) => m.sender === c.me && m.clientSeq === clientSeq));
  return (
    <div className="quote" style={{ ["--hue" as string]: hueOf(client.me) }}>
      <b dir="auto">{t("you")}</b>
      <span dir="auto">{m ? preview(m, (u) => nameOf(client, u, t), t) : t("quoteGone")}</span>
    </div>
  );
}

/** A message by its seq; undefined until it is known, null where one cannot read it. */
function useMessage(conversation: string, seq: number): ChatMessage | null | undefined {
  const client = useClient();
  const online = useOnline();
  const loaded = useSnapshot((c) => c.messages(conversation).find((m) => m.seq === seq));
  const [read, setRead] = useState<ChatMessage | null>();
  const [changes, setChanges] = useState(0);
  const isLoaded = loaded !== undefined;
  useEffect(
    () => client.on("updated", (u) => u.conversation === conversation && u.seq === seq && setChanges((n) => n + 1)),
    [client, conversation, seq],
  );
  useEffect(() => {
    if (isLoaded || !online) return;
    let stale = false;
    client.getMessages(conversation, [seq]).then(
      ([m]) => !stale && setRead(m ?? null),
      () => {}, // the next connection tries again
    );
    return () => {
      stale = true;
    };
  }, [client, conversation, seq, isLoaded, online, changes]);
  const gone = useSnapshot((c) => read !== undefined && read !== null && c.isGone(read));
  return loaded ?? (gone ? null : read);
}
