import type { NodeReport } from "./calls.js";
import type { PageProps } from "./pageProps.js";
import { bytes, count, duration, milliseconds, percent } from "./formats.js";
import { Plot } from "./Plot.js";
import { figureKey, gaugeLines, quantiles, rates, type Point, type Reading } from "./series.js";
import { useText } from "./text.js";
import { periodMs, useReadings, windowMs } from "./useReadings.js";

const prefixes = ["rialto_connections", "rialto_call_seconds", "rialto_events_total", "rialto_partitions", "process_cpu_seconds_total", "process_resident_memory_bytes"];

/** Sends that were answered, on sockets and by calls. */
const sends = ["call=send", "call=/rialto.chat.v1.ChatService/Send"].map((labels) => figureKey("rialto_call_seconds", labels));

/** The nodes of the cluster with their figures, live. */
export function NodesPage(props: PageProps) {
  const t = useText();
  const { value, error } = useReadings(props, prefixes);
  if (!value) return <p className={error ? "error" : "muted"}>{error || t("loading")}</p>;
  const lines = (points: (of: readonly Reading[]) => Point[]) => [...value.readings].map(([name, readings]) => ({ name, points: points(readings) }));
  return (
    <>
      {error && <p className="error" role="status">{t("stale", { error })}</p>}
      <p className="muted" data-testid="answered">{t("nodesAnswered", { n: value.nodes.filter((n) => n.answered).length, all: value.nodes.length })}</p>
      <ul className="nodes">
        {value.nodes.map((n) => (
          <NodeCard key={n.name} node={n} nowMs={value.timeMs} readings={value.readings.get(n.name) ?? []} />
        ))}
      </ul>
      <div className="plots">
        <Plot title={t("sendsPerSecond")} periodMs={periodMs} format={count} lines={lines((s) => rates(s, sends))} />
        <Plot title={t("acknowledgedP99")} periodMs={periodMs} format={milliseconds} lines={lines((s) => quantiles(s, sends, 0.99, windowMs))} />
        <Plot title={t("eventsPerSecond")} periodMs={periodMs} format={count} lines={lines((s) => rates(s, ["rialto_events_total"]))} />
        <Plot title={t("connections")} periodMs={periodMs} format={count} lines={gaugeLines(value.readings, "rialto_connections")} />
        <Plot title={t("processor")} periodMs={periodMs} format={percent} lines={lines((s) => rates(s, ["process_cpu_seconds_total"]))} />
        <Plot title={t("memory")} periodMs={periodMs} format={bytes} lines={gaugeLines(value.readings, "process_resident_memory_bytes")} />
      </div>
    </>
  );
}

function NodeCard({ node, nowMs, readings }: { node: NodeReport; nowMs: number; readings: readonly Reading[] }) {
  const t = useText();
  if (!node.answered) {
    return (
      <li className="card" data-testid="node">
        <h2><bdi>{node.name}</bdi></h2>
        <p className="error">{t("noAnswer", { error: node.error })}</p>
      </li>
    );
  }
  const last = (points: { value: number | undefined }[], format: (n: number) => string) => {
    const value = points.at(-1)?.value;
    return value === undefined ? t("none") : format(value);
  };
  const figure = (name: string) => readings.at(-1)?.figures.get(name) ?? 0;
  const rows: [string, string][] = [
    [t("version"), `${node.version} ${node.commit}`],
    [t("roles"), node.roles.join(", ")],
    [t("uptime"), duration(nowMs - Number(node.startedMs), t)],
    [t("connections"), count(figure("rialto_connections"))],
    [t("sendsPerSecond"), last(rates(readings, sends), count)],
    [t("acknowledged"), `${last(quantiles(readings, sends, 0.5, windowMs), milliseconds)} / ${last(quantiles(readings, sends, 0.99, windowMs), milliseconds)}`],
    [t("processor"), last(rates(readings, ["process_cpu_seconds_total"]), (n) => t("ofProcessors", { percent: percent(n), n: node.processors }))],
    [t("memory"), bytes(figure("process_resident_memory_bytes"))],
    [t("partitions"), `${count(figure("rialto_partitions"))} / ${count(figure("rialto_partitions_held"))}`],
  ];
  return (
    <li className="card" data-testid="node">
      <h2><bdi>{node.name}</bdi></h2>
      {node.leaving && <p className="warning">{t("leaving")}</p>}
      {node.damaged && <p className="error">{t("damaged", { error: node.damaged })}</p>}
      <dl>
        {rows.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </li>
  );
}
