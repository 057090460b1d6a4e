import type { ConversationView } from "@rialto-im/client";
import { useState } from "react";
import type { RunAction } from "../action.js";
import { useClient } from "../client.js";
import { duration } from "../format.js";
import { useText } from "../i18n.js";
import { Confirm } from "../ui/Confirm.js";

const day = 86_400;
const choices = [day / 24, day, 7 * day, 30 * day, 90 * day, 365 * day];

/** After which time a chat's messages disappear. A shorter one takes older messages away from everybody, for good: it asks first. */
export function Retention({ c, run }: { c: ConversationView; run: RunAction }) {
  const client = useClient();
  const t = useText();
  // What is chosen but not yet saved. A change that arrives meanwhile must not undo the choice.
  const [chosen, setChosen] = useState<number>();
  if (chosen === c.retentionSeconds) setChosen(undefined);
  const seconds = chosen ?? c.retentionSeconds;
  const set = () => void run(() => client.chat.setRetention({ conversation: c.id, seconds }));
  const kept = c.retentionSeconds || c.keptSeconds; // the latter is read from the server and may come later
  const shorter = seconds !== 0 && (kept === 0 || seconds < kept);
  const offered = [...new Set([...choices, c.retentionSeconds])].filter((n) => n > 0).sort((a, b) => a - b);
  return (
    <div className="stack" role="group" aria-label={t("retention")}>
      <label>
        {t("retention")}
        <select value={seconds} data-testid="retention" onChange={(e) => setChosen(Number(e.target.value))}>
          <option value={0}>{t("retentionServer")}</option>
          {offered.map((n) => <option key={n} value={n}>{t("retentionAfter", { time: duration(n, t) })}</option>)}
        </select>
      </label>
      {seconds !== c.retentionSeconds && (
        <div className="buttons">
          {shorter ? <Confirm label={t("retentionShorten")} question={t("sureRetention", { time: duration(seconds, t) })} onYes={set} /> : <button onClick={set}>{t("save")}</button>}
        </div>
      )}
    </div>
  );
}
