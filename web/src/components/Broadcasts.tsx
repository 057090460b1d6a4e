import { BroadcastState as State, type Broadcast, type OfficialAccount } from "@rialto-im/client";
import { useEffect } from "react";
import { useAction } from "../action.js";
import { useClient, useOnline } from "../client.js";
import { until } from "../format.js";
import { getLocale, useText, type Key } from "../i18n.js";
import { lists } from "../intl.js";
import type { Listed } from "../pages.js";
import { usePages } from "../usePages.js";
import { Confirm } from "../ui/Confirm.js";
import { NewBroadcast } from "./NewBroadcast.js";

const refreshMs = 2000;
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
  const isOpen = b.state === State.RUNNING || b.state === State.PAUSED;
  const begun = b.wave > 0 || b.sent + b.failed > 0;
  return (
    <li data-testid="broadcast">
      <p dir="auto">{kind?.case === "text" ? kind.value : kind?.case === "card" ? kind.value.title : t("broadcastOther")}</p>
      <p className="muted" role="status">
        {due ? t(begun ? "broadcastWaits" : "broadcastStarts", { when: until(due, getLocale()) }) : t(states[b.state])}{" · "}{t("broadcastProgress", { n: b.sent, failed: b.failed })}
        {b.audience && b.audience.labels.length > 0 && <> · <bdi>{t("broadcastAudience", { label: lists(getLocale(), "or").format(b.audience.labels) })}</bdi></>}
        {isOpen && b.waves.length > 1 && ` · ${t("broadcastWave", { wave: b.wave + 1, of: b.waves.length })}`}
        {b.updating && ` · ${t("broadcastUpdating")}`}
      </p>
      <div className="buttons">
        {b.state === State.RUNNING && <button onClick={() => act(() => official.pause(b.id))}>{t("broadcastPause")}</button>}
        {b.state === State.PAUSED && <button onClick={() => act(() => official.resume(b.id))}>{t("broadcastResume")}</button>}
        {isOpen && <Confirm label={t("broadcastCancel")} question={t("sureCancelBroadcast")} onYes={() => act(() => official.cancel(b.id))} />}
        {b.state !== State.RECALLED && <Confirm label={t("broadcastRecall")} question={t("sureRecallBroadcast")} onYes={() => act(() => official.recall(b.id))} />}
      </div>
    </li>
  );
}
