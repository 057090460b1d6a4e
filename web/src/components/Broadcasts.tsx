import { BroadcastState as State, type Broadcast, type OfficialAccount } from "@rialto-im/client";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { useAction, type RunAction } from "../action.js";
import { useClient, useOnline } from "../client.js";
import { until } from "../format.js";
import { getLocale, useText, type Key } from "../i18n.js";
import type { Listed } from "../pages.js";
import { usePages } from "../usePages.js";
import { Confirm } from "../ui/Confirm.js";

const refreshMs = 2000;
const hour = 3600;
const states: Record<State, Key> = {
  [State.UNSPECIFIED]: "broadcastRunning", [State.RUNNING]: "broadcastRunning", [State.PAUSED]: "broadcastPaused", [State.DONE]: "broadcastDone", [State.CANCELLED]: "broadcastCancelled", [State.RECALLED]: "broadcastRecalled",
};

/** When more of a broadcast is sent; 0 where that is now, or never. */
function waitsUntil(b: Broadcast): number {
  const due = Number(b.dueMs);
  return b.state === State.RUNNING && due > Date.now() + refreshMs ? due : 0;
}

const isSending = (b: Broadcast): boolean => b.state === State.RUNNING && waitsUntil(b) === 0;

/** The broadcasts of an account with their progress, and a form for a new one. */
export function Broadcasts({ account }: { account: OfficialAccount }) {
  const client = useClient();
  const t = useText();
  const online = useOnline();
  const { run, error } = useAction();
  const { user } = account;
  const { list, more, reload } = usePages(run, user, 0, async (page): Promise<Listed<Broadcast>> => {
    const { broadcasts, next } = await client.official.broadcasts(user, { page });
    return { items: broadcasts, next };
  });
  const changing = list?.some((b) => b.updating || isSending(b));
  useEffect(() => {
    if (!changing || !online) return;
    const timer = setTimeout(() => void reload(), refreshMs);
    return () => clearTimeout(timer);
  }, [changing, online, list]);
  const act = (action: () => Promise<unknown>) => void run(() => action().finally(reload));
  return (
    <>
      <NewBroadcast account={account} run={run} onSent={reload} />
      {error && <p className="error" role="alert">{error}</p>}
      {list?.length === 0 && <p className="muted">{t("noBroadcasts")}</p>}
      <ul className="broadcasts">{list?.map((b) => <Row key={b.id} b={b} act={act} />)}</ul>
      {more && <button onClick={more}>{t("moreBroadcasts")}</button>}
    </>
  );
}

function Row({ b, act }: { b: Broadcast; act: (action: () => Promise<unknown>) => void }) {
  const client = useClient();
  const t = useText();
  const { official } = client;
  const kind = b.content?.kind;
  const due = waitsUntil(b);
  const begun = b.wave > 0 || b.sent + b.failed > 0;
  return (
    <li data-testid="broadcast">
      <p dir="auto">{kind?.case === "text" ? kind.value : kind?.case === "card" ? kind.value.title : t("broadcastOther")}</p>
      <p className="muted" role="status">
        {due ? t(begun ? "broadcastWaits" : "broadcastStarts", { when: until(due, getLocale()) }) : t(states[b.state])}{" · "}{t("broadcastProgress", { n: b.sent, failed: b.failed })}
        {b.audience && b.audience.labels.length > 0 && <> · <bdi>{t("broadcastAudience", { label: b.audience.labels })}</bdi></>}
        {b.updating && ` · ${t("broadcastUpdating")}`}
      </p>
      <div className="buttons">
        {b.state === State.RUNNING && <button onClick={() => act(() => official.pause(b.id))}>{t("broadcastPause")}</button>}
        {b.state === State.PAUSED && <button onClick={() => act(() => official.resume(b.id))}>{t("broadcastResume")}</button>}
        {(b.state === State.RUNNING || b.state === State.PAUSED) && <Confirm label={t("broadcastCancel")} question={t("sureCancelBroadcast")} onYes={() => act(() => official.cancel(b.id))} />}
        {b.state !== State.RECALLED && <Confirm label={t("broadcastRecall")} question={t("sureRecallBroadcast")} onYes={() => act(() => official.recall(b.id))} />}
      </div>
    </li>
  );
}

function NewBroadcast({ account, run, onSent }: { account: OfficialAccount; run: RunAction; onSent: () => Promise<void> }) {
  const client = useClient();
  const t = useText();
  const [text, setText] = useState("");
  const [label, setLabel] = useState("");
  const [inWaves, setInWaves] = useState(false);
  // The same until the server has the broadcast, so that a second try makes no second one.
  const key = useRef(crypto.randomUUID());
  const send = (e: FormEvent) => {
    e.preventDefault();
    void run(async () => {
      await client.official.broadcast({
        user: account.user, key: key.current, content: { kind: { case: "text", value: text.trim() } }, audience: { labels: label ? [label] : [] },
        ...(inWaves ? { waves: [1, 10, 100], waveSeconds: hour } : {}),
      });
      key.current = crypto.randomUUID();
      setText("");
      await onSent();
    });
  };
  return (
    <form className="stack" onSubmit={send}>
      <label>{t("broadcastText")}<textarea required rows={3} maxLength={2000} value={text} onChange={(e) => { key.current = crypto.randomUUID(); setText(e.target.value); }} /></label>
      {account.labels.length > 0 && (
        <label>{t("broadcastTo")}<select value={label} onChange={(e) => setLabel(e.target.value)}><option value="">{t("allFollowers")}</option>{account.labels.map((l) => <option key={l}>{l}</option>)}</select></label>
      )}
      <label className="check"><input type="checkbox" checked={inWaves} onChange={(e) => setInWaves(e.target.checked)} /> {t("broadcastInWaves")}</label>
      <button className="primary" disabled={!text.trim()}>{t("broadcastSend")}</button>
    </form>
  );
}
