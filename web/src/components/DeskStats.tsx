import type { GetHelpDeskStatsResponse, HelpDesk, TicketStats } from "@rialto-im/client";
import { useEffect, useState } from "react";
import { useAction } from "../action.js";
import { useClient, useOnline } from "../client.js";
import { duration, roughly } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { numbers } from "../intl.js";
import { nameOf } from "../names.js";

const daySeconds = 86_400;
const periods = [1, 7, 30, 90];

/** The figures of a desk: now, and of the tickets that were resolved in a period. */
export function DeskStats({ desk }: { desk: HelpDesk }) {
  const client = useClient();
  const t = useText();
  const online = useOnline();
  const [days, setDays] = useState(7);
  const [stats, setStats] = useState<GetHelpDeskStatsResponse>();
  const { run, error } = useAction();
  useEffect(() => {
    if (!online) return;
    let stale = false;
    void run(async () => {
      const now = Date.now();
      const read = await client.helpDesks.stats(desk.id, now - days * daySeconds * 1_000, now + daySeconds * 1_000); // the server's clock may be ahead
      if (!stale) setStats(read);
    });
    return () => {
      stale = true;
    };
  }, [client, desk.id, days, online, run]);
  return (
    <div className="stack">
      {error && <p className="error" role="alert">{error}</p>}
      {stats && <p role="status">{t("statsNow", { waiting: stats.waiting, active: stats.active })}</p>}
      <label>{t("period")}<select value={days} onChange={(e) => setDays(Number(e.target.value))}>{periods.map((d) => <option key={d} value={d}>{duration(d * daySeconds, t)}</option>)}</select></label>
      {stats && (
        <table className="desk-stats">
          <thead><tr><th scope="col">{t("statsAgent")}</th><th scope="col">{t("statsResolved")}</th><th scope="col">{t("statsResponse")}</th><th scope="col">{t("statsRating")}</th></tr></thead>
          <tbody>
            {stats.agents.map((a) => <Figures key={a.agent} name={nameOf(client, a.agent, t)} stats={a} />)}
            {stats.total && <Figures name={t("statsAll")} stats={stats.total} />}
          </tbody>
        </table>
      )}
    </div>
  );
}

function Figures({ name, stats }: { name: string; stats: TicketStats }) {
  const t = useText();
  return (
    <tr>
      <th scope="row"><bdi>{name}</bdi></th>
      <td>{numbers(getLocale(), "plain").format(stats.resolved)}</td>
      <td>{stats.firstResponseMs > 0n ? roughly(Number(stats.firstResponseMs), t) : t("statsNone")}</td>
      <td>{stats.rated > 0 ? t("statsRated", { rating: numbers(getLocale(), "tenths").format(stats.rating), n: stats.rated }) : t("statsNone")}</td>
    </tr>
  );
}
