import type { ConversationView } from "@rialto-im/client";
import { useState } from "react";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { Confirm } from "./Confirm.js";
import type { Run } from "./GroupPanel.js";

const choices = [1, 7, 30, 90, 180, 365];

/** For how long a chat's messages are kept. A shorter time takes older ones away from everybody, for good: it asks first. */
export function Retention({ c, run }: { c: ConversationView; run: Run }) {
  const client = useClient();
  const t = useText();
  const [days, setDays] = useState(c.retentionDays);
  const set = () => void run(() => client.chat.setRetention({ conversation: c.id, days }));
  const shorter = days !== 0 && (c.keptDays === 0 || days < c.keptDays);
  const offered = [...new Set([...choices, c.retentionDays])].filter((n) => n > 0).sort((a, b) => a - b);
  return (
    <div className="stack">
      <label>
        {t("retention")}
        <select value={days} data-testid="retention" onChange={(e) => setDays(Number(e.target.value))}>
          <option value={0}>{t("retentionServer")}</option>
          {offered.map((n) => <option key={n} value={n}>{t("retentionDays", { n })}</option>)}
        </select>
      </label>
      {days !== c.retentionDays && (
        <div className="buttons">
          {shorter ? <Confirm label={t("retentionShorten")} question={t("sureRetention", { n: days })} onYes={set} /> : <button onClick={set}>{t("save")}</button>}
        </div>
      )}
    </div>
  );
}
