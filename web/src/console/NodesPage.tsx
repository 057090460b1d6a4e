import { useCallback, useRef } from "react";
import type { NodeReport } from "./calls.js";
import type { PageProps } from "./pageProps.js";
import { bytes, count, duration, milliseconds, percent } from "./formats.js";
import { Plot } from "./Plot.js";
import { addSamples, figure, mostSamples, quantiles, rates, type Sample } from "./samples.js";
import { useText } from "./text.js";
import { usePolled } from "./usePolled.js";

const everyMs = 2000;
const periodMs = mostSamples * everyMs;

interface State {
  nodes: readonly NodeReport[];
  timeMs: number;
  samples: ReadonlyMap<string, readonly Sample[]>;
}

/** The nodes of the cluster with their figures, live. */
export function NodesPage({ calls, fail }: PageProps) {
  const t = useText();
  const samples = useRef<ReadonlyMap<string, readonly Sample[]>>(new Map());
  const load = useCallback(
    async (signal: AbortSignal): Promise<State> => {
      const answer = await calls.operation.listNodes({}, { signal });
      const [nodes, timeMs] = [answer.nodes, Number(answer.timeMs)];
      samples.current = addSamples(samples.current, nodes, timeMs);
      return { nodes, timeMs, samples: samples.current };
    },
    [calls],
  );
  const { value, error } = usePolled(load, everyMs, fail);
  if (!value) return <p className={error ? "error" : "muted"}>{error || t("loading")}</p>;
  const lines = (points: (of: readonly Sample[]) => { timeMs: number; value: number | undefined }[]) => value.nodes.map((n) => ({ name: n.name, points: points(value.samples.get(n.name) ?? []) }));
  return (
    <>
      {error && <p className="error" role="status">{t("stale", { error })}</p>}
      <p className="muted" data-testid="answered">{t("nodesAnswered", { n: value.nodes.filter((n) => n.answered).length, all: value.nodes.length })}</p>
      <ul className="nodes">
        {value.nodes.map((n) => (
          <NodeCard key={n.name} node={n} nowMs={value.timeMs} samples={value.samples.get(n.name) ?? []} />
        ))}
      </ul>
      <div className="plots">
        <Plot title={t("sendsPerSecond")} periodMs={periodMs} format={count} lines={lines((s) => rates(s, "sends"))} />
        <Plot title={t("acknowledgedP99")} periodMs={periodMs} format={milliseconds} lines={lines((s) => quantiles(s, 0.99))} />
        <Plot title={t("eventsPerSecond")} periodMs={periodMs} format={count} lines={lines((s) => rates(s, "events"))} />
        <Plot title={t("connections")} periodMs={periodMs} format={count} lines={lines((s) => s.map((x) => ({ timeMs: x.timeMs, value: x.connections })))} />
        <Plot title={t("processor")} periodMs={periodMs} format={percent} lines={lines((s) => rates(s, "cpuSeconds"))} />
        <Plot title={t("memory")} periodMs={periodMs} format={bytes} lines={lines((s) => s.map((x) => ({ timeMs: x.timeMs, value: x.memoryBytes })))} />
      </div>
    </>
  );
}

function NodeCard({ node, nowMs, samples }: { node: NodeReport; nowMs: number; samples: readonly Sample[] }) {
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
  const rows: [string, string][] = [
    [t("version"), `${node.version} ${node.commit}`],
    [t("roles"), node.roles.join(", ")],
    [t("uptime"), duration(nowMs - Number(node.startedMs), t)],
    [t("connections"), count(figure(node, "rialto_connections"))],
    [t("sendsPerSecond"), last(rates(samples, "sends"), count)],
    [t("acknowledged"), `${last(quantiles(samples, 0.5), milliseconds)} / ${last(quantiles(samples, 0.99), milliseconds)}`],
    [t("processor"), last(rates(samples, "cpuSeconds"), (n) => t("ofProcessors", { percent: percent(n), n: node.processors }))],
    [t("memory"), bytes(figure(node, "process_resident_memory_bytes"))],
    [t("partitions"), `${count(figure(node, "rialto_partitions"))} / ${count(figure(node, "rialto_partitions_held"))}`],
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
