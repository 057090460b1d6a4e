import { bytes, count, percent } from "./formats.js";
import type { PageProps } from "./pageProps.js";
import { Plot } from "./Plot.js";
import { gaugeLines, keysOf, ratePerSecond, rates, total, type Readings } from "./series.js";
import { Table } from "./Table.js";
import { useText, type Translate } from "./text.js";
import { periodMs, useReadings, windowMs } from "./useReadings.js";

const prefixes = ["rialto_rate_limit", "rialto_limit", "rialto_call_workers", "rialto_overload_refused_total", "rialto_sends_admitted_ratio", "rialto_input_refused_total", "rialto_answers_refused_total", "rialto_connections_unauthenticated_refused_total"];

/** The counters of what bounds refused, by the setting of the bound. */
const refusals: Record<string, string> = {
  "input.memory": "rialto_input_refused_total",
  "input.unauthenticated_connections": "rialto_connections_unauthenticated_refused_total",
  "output.answers_total": "rialto_answers_refused_total",
};

const inBytes = ["input.memory", "output.answers_total"];

/** A rate as operators write it in settings. */
export function rateText(perSecond: number, t: Translate): string {
  if (!Number.isFinite(perSecond)) return t("unlimited");
  if (perSecond >= 1) return t("perSecond", { n: count(perSecond) });
  return perSecond * 60 >= 1 ? t("perMinute", { n: count(perSecond * 60) }) : t("perHour", { n: count(perSecond * 3600) });
}

/** Limits and bounds with their present use, and what they refuse. They are settings, which a node reads when it starts. */
export function LimitsPage(props: PageProps) {
  const t = useText();
  const { value: read, error } = useReadings(props, prefixes);
  if (!read) return <p className={error ? "error" : "muted"}>{error || t("loading")}</p>;
  const value = read.readings;
  const refusedLines = keysOf(value, "rialto_rate_limited_total")
    .filter(({ key }) => (total(value, key) ?? 0) > 0)
    .map(({ key, labels }) => ({ name: labels["route"]!, points: [...value.values()].flatMap((r) => rates(r, [key])) }));
  return (
    <>
      {error && <p className="error" role="status">{t("stale", { error })}</p>}
      <p className="muted">{t("limitsHint")}</p>
      <h2>{t("bounds")}</h2>
      <Bounds of={value} />
      <h2>{t("workers")}</h2>
      <Workers of={value} />
      <h2>{t("rateLimits")}</h2>
      <RateLimits of={value} />
      <div className="plots">
        <Plot title={t("refusedPerSecond")} periodMs={periodMs} format={count} lines={refusedLines} />
        <Plot title={t("sendsAdmitted")} periodMs={periodMs} format={percent} lines={gaugeLines(value, "rialto_sends_admitted_ratio")} />
      </div>
    </>
  );
}

function Bounds({ of }: { of: Readings }) {
  const t = useText();
  const rows = keysOf(of, "rialto_limit").map(({ key, labels }) => {
    const setting = labels["setting"]!;
    const format = inBytes.includes(setting) ? bytes : count;
    const most = total(of, key) ?? 0;
    const used = total(of, `rialto_limit_used{setting=${setting}}`) ?? 0;
    const refused = refusals[setting] === undefined ? undefined : total(of, refusals[setting]!);
    return { key: setting, cells: [<code key="s">{setting}</code>, format(most), format(used), percent(most > 0 ? used / most : 0), refused === undefined ? t("none") : count(refused)] };
  });
  return <Table label={t("bounds")} head={[t("setting"), t("limit"), t("used"), t("usedShare"), t("refusedTotal")]} rows={rows} />;
}

function Workers({ of }: { of: Readings }) {
  const t = useText();
  const classes = [...new Set(keysOf(of, "rialto_call_workers").map(({ labels }) => labels["class"]!))];
  const workers = (name: string, state: string) => count(total(of, `rialto_call_workers{class=${name},state=${state}}`) ?? 0);
  const rows = classes.map((name) => {
    const refused = keysOf(of, "rialto_overload_refused_total").filter(({ labels }) => labels["class"] === name).map(({ key }) => key);
    return { key: name, cells: [<bdi key="c">{name}</bdi>, workers(name, "limit"), workers(name, "working"), workers(name, "waiting"), count(refused.reduce((sum, k) => sum + (total(of, k) ?? 0), 0))] };
  });
  return <Table label={t("workers")} head={[t("callClass"), t("limit"), t("working"), t("waiting"), t("refusedTotal")]} rows={rows} />;
}

function RateLimits({ of }: { of: Readings }) {
  const t = useText();
  const first = [...of.values()].findLast((r) => r.length > 0)?.at(-1)?.figures; // all nodes have the same settings
  const rows = keysOf(of, "rialto_rate_limit_per_second").map(({ key, labels }) => {
    const [setting, route] = [labels["setting"]!, labels["route"]!];
    const suffix = key.slice("rialto_rate_limit_per_second".length);
    const refused = `rialto_rate_limited_total{route=${route}}`;
    return {
      key: setting,
      cells: [<code key="s">{setting}</code>, rateText(first?.get(key) ?? Infinity, t), burst(first?.get(`rialto_rate_limit_burst${suffix}`), t), count(total(of, `rialto_rate_limit_keys${suffix}`) ?? 0), count(total(of, refused) ?? 0), count(ratePerSecond(of, [refused], windowMs) ?? 0)],
    };
  });
  return <Table label={t("rateLimits")} head={[t("setting"), t("rate"), t("burst"), t("keysInUse"), t("routeRefused"), t("routeRefusedPerSecond")]} rows={rows} />;
}

function burst(n: number | undefined, t: Translate): string {
  return n === undefined || !Number.isFinite(n) ? t("none") : count(n);
}
