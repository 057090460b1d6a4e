import { useEffect, useState } from "react";
import { client } from "../client.js";
import { preview } from "../format.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";

/** Says each new message to a screen reader: only what comes in now, not what is loaded from before. */
export function Announcer() {
  const t = useText();
  const [said, setSaid] = useState("");
  useEffect(
    () =>
      client.on("message", (m) => {
        const c = client.conversation(m.conversation);
        if (c?.muted || m.content.kind.case === "control") return;
        setSaid(t("says", { who: nameOf(client, m.sender), text: preview(m, (u) => nameOf(client, u), t) }));
      }),
    [t],
  );
  return <p className="sr-only" role="status" aria-live="polite" data-testid="announcer">{said}</p>;
}
