import type { ChatMessage } from "@rialto-im/client";
import { useEffect, useState } from "react";
import { useClient, useOnline } from "../client.js";
import { errorText } from "../errors.js";
import { useText } from "../i18n.js";
import { Quote } from "./Quote.js";

/** The pinned messages of a conversation, the last pinned first. Nothing where there are none. */
export function Pins({ conversation }: { conversation: string }) {
  const client = useClient();
  const t = useText();
  const online = useOnline();
  const [pins, setPins] = useState<readonly string[]>([]);
  const [error, setError] = useState("");
  // What was pinned here meanwhile, or is no longer.
  const changes = client.messages(conversation).filter((m: ChatMessage) => m.pinSeq).map((m) => m.pinSeq).join();
  useEffect(() => {
    if (!online) return;
    let stale = false;
    client.chat.listPins({ conversation }).then(
      (r) => !stale && setPins(r.messages.map((m) => String(m.seq))),
      (err: unknown) => !stale && setError(errorText(err)),
    );
    return () => {
      stale = true;
    };
  }, [client, conversation, online, changes]);
  if (error) return <p className="error" role="alert">{error}</p>;
  if (pins.length === 0) return null;
  return (
    <section aria-label={t("pinnedMessages")}>
      <h4>{t("pinnedMessages")}</h4>
      {pins.map((seq) => <Quote key={seq} conversation={conversation} seq={Number(seq)} link />)}
    </section>
  );
}
