import { Availability } from "@rialto-im/client";
import { useEffect, useState } from "react";
import { client } from "../client.js";
import { preview } from "../format.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";

/** So long a screen reader has to take up a message. */
const saidMs = 5_000;

/** Says each new message to a screen reader: only what comes in now, not what is loaded from before. Of a muted chat, only mentions. */
export function Announcer() {
  const t = useText();
  const [said, setSaid] = useState("");
  useEffect(
    () =>
      client.on("message", (m) => {
        const c = client.conversation(m.conversation);
        const silent = client.settings()?.availability === Availability.DO_NOT_DISTURB || (c?.muted && !client.mentioned(m));
        if (silent || m.content.kind.case === "control") return;
        setSaid(t(client.mentioned(m) ? "saysToYou" : "says", { who: nameOf(client, m.sender), text: preview(m, (u) => nameOf(client, u), t) }));
      }),
    [t],
  );
  useEffect(() => {
    if (!said) return;
    const timer = setTimeout(() => setSaid(""), saidMs); // a message may be recalled
    return () => clearTimeout(timer);
  }, [said]);
  return <p className="sr-only" role="status" aria-live="polite" data-testid="announcer">{said}</p>;
}
