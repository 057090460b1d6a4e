import type { OfficialAccount } from "@rialto-im/client";
import { useEffect, useId, useRef, useState, type FormEvent } from "react";
import type { RunAction } from "../action.js";
import { useClient } from "../client.js";
import { duration } from "../format.js";
import { useText } from "../i18n.js";
import { mostWaves, readWaveSeconds, readWaves, waveUnits, type WaveUnit } from "../waves.js";

/** The most labels that a broadcast can go to. */
const mostLabels = 10;
const unitTexts = { minutes: "waveMinutes", hours: "waveHours", days: "waveDays" } as const;

/** What is typed of waves: the percentages, and the time between two as a number of units. */
interface Plan {
  percents: string;
  count: string;
  unit: WaveUnit;
}

/** A form for a broadcast: to all followers or to those with one of some labels, at once or in waves. */
export function NewBroadcast({ account, run, onSent }: { account: OfficialAccount; run: RunAction; onSent: () => Promise<void> }) {
  const client = useClient();
  const t = useText();
  const [text, setText] = useState("");
  const [toLabels, setToLabels] = useState(false);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const [inWaves, setInWaves] = useState(false);
  const [plan, setPlan] = useState<Plan>({ percents: "1, 10, 100", count: "1", unit: "hours" });
  // The key of this broadcast: a second try with it sends nothing twice. Whatever is changed needs a new key.
  const key = useRef(crypto.randomUUID());
  // A label that was renamed or deleted meanwhile is no longer chosen. Without any other one, nothing can be sent: it would go to all.
  const labels = account.labels.filter((l) => chosen.includes(l));
  const audience = JSON.stringify(labels);
  useEffect(() => {
    key.current = crypto.randomUUID();
  }, [audience]);
  const waves = readWaves(plan.percents);
  const waveSeconds = readWaveSeconds(plan.count, plan.unit);
  const ready = text.trim() !== "" && (!toLabels || labels.length > 0) && (!inWaves || (waves !== undefined && waveSeconds !== undefined));
  const send = (e: FormEvent) => {
    e.preventDefault();
    void run(async () => {
      await client.official.broadcast({
        user: account.user, key: key.current, content: { kind: { case: "text", value: text.trim() } }, audience: { labels: toLabels ? labels : [] },
        ...(inWaves && waves && waveSeconds ? { waves, waveSeconds } : {}),
      });
      key.current = crypto.randomUUID();
      setText("");
      await onSent();
    });
  };
  return (
    <form className="stack" onSubmit={send} onChange={() => (key.current = crypto.randomUUID())}>
      <label>{t("broadcastText")}<textarea required rows={3} maxLength={2000} dir="auto" value={text} onChange={(e) => setText(e.target.value)} /></label>
      {(account.labels.length > 0 || toLabels) && (
        <label>{t("broadcastTo")}<select value={toLabels ? "labels" : ""} onChange={(e) => setToLabels(e.target.value !== "")}><option value="">{t("allFollowers")}</option><option value="labels">{t("followersWithLabels")}</option></select></label>
      )}
      {toLabels && <Labels all={account.labels} chosen={labels} onChoose={setChosen} />}
      <label className="check"><input type="checkbox" checked={inWaves} onChange={(e) => setInWaves(e.target.checked)} /> {t("broadcastInWaves")}</label>
      {inWaves && <Waves plan={plan} waves={waves} seconds={waveSeconds} onChange={(part) => setPlan({ ...plan, ...part })} />}
      <button className="primary" disabled={!ready}>{t("broadcastSend")}</button>
    </form>
  );
}

function Labels({ all, chosen, onChoose }: { all: readonly string[]; chosen: readonly string[]; onChoose: (labels: readonly string[]) => void }) {
  const t = useText();
  const full = chosen.length >= mostLabels;
  return (
    <fieldset className="official-part">
      <legend>{t("broadcastLabels")}</legend>
      <ul className="label-choices">
        {all.map((l) => (
          <li key={l}>
            <label className="check">
              <input type="checkbox" checked={chosen.includes(l)} disabled={full && !chosen.includes(l)} onChange={(e) => onChoose(e.target.checked ? [...chosen, l] : chosen.filter((c) => c !== l))} />
              <bdi className="name">{l}</bdi>
            </label>
          </li>
        ))}
      </ul>
      <p className="muted" role="status">{chosen.length === 0 ? t("broadcastLabelsNone") : full ? t("broadcastLabelsMost", { n: mostLabels }) : t("broadcastLabelsAny")}</p>
    </fieldset>
  );
}

function Waves({ plan, waves, seconds, onChange }: { plan: Plan; waves: readonly number[] | undefined; seconds: number | undefined; onChange: (part: Partial<Plan>) => void }) {
  const t = useText();
  const note = useId();
  return (
    <fieldset className="official-part">
      <legend>{t("waves")}</legend>
      <label>{t("wavePercents")}<input aria-invalid={!waves} aria-describedby={note} value={plan.percents} onChange={(e) => onChange({ percents: e.target.value })} /></label>
      <div className="wave-time">
        <label>{t("waveTime")}<input inputMode="numeric" aria-invalid={!seconds} aria-describedby={note} value={plan.count} onChange={(e) => onChange({ count: e.target.value })} /></label>
        <label>{t("waveUnit")}<select value={plan.unit} onChange={(e) => onChange({ unit: e.target.value as WaveUnit })}>{(Object.keys(waveUnits) as WaveUnit[]).map((u) => <option key={u} value={u}>{t(unitTexts[u])}</option>)}</select></label>
      </div>
      <p id={note} className={waves && seconds ? "muted" : "error"} role="status">
        {!waves ? t("wavesWrong", { most: mostWaves }) : !seconds ? t("waveTimeWrong") : t("wavesNote", { n: waves.length, percents: waves.map((w) => `${w}%`).join(" → "), time: duration(seconds * (waves.length - 1), t) })}
      </p>
    </fieldset>
  );
}
