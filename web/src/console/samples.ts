import type { NodeReport } from "./calls.js";

/** What one report of a node says, of what is plotted. */
export interface Sample {
  timeMs: number;
  startedMs: number;
  connections: number;
  /** Sends that were answered, on sockets and by calls. */
  sends: number;
  events: number;
  cpuSeconds: number;
  memoryBytes: number;
  /** How many sends were acknowledged within each of bounds, and in all. */
  acked: readonly number[];
  bounds: readonly number[];
}

/** How long samples are kept: five minutes, at one in two seconds. */
export const mostSamples = 150;
/** The time over which latencies are computed. */
export const latencyMs = 30_000;

export function figure(report: NodeReport, name: string, labels = ""): number {
  return report.figures.find((f) => f.name === name && f.labels === labels)?.value ?? 0;
}

/** Sends on sockets, and by calls. */
const sends = ["call=send", "call=/rialto.chat.v1.ChatService/Send"];

export function sampleOf(report: NodeReport, timeMs: number): Sample {
  const latencies = report.figures.filter((f) => f.name === "rialto_call_seconds" && sends.includes(f.labels));
  const bounds = latencies[0]?.bounds ?? []; // all calls have the same
  const acked = Array.from({ length: bounds.length + 1 }, (_, i) => latencies.reduce((sum, f) => sum + Number(f.counts[i] ?? 0), 0));
  return {
    timeMs,
    startedMs: Number(report.startedMs),
    connections: figure(report, "rialto_connections"),
    sends: acked.at(-1) ?? 0,
    events: figure(report, "rialto_events_total"),
    cpuSeconds: figure(report, "process_cpu_seconds_total"),
    memoryBytes: figure(report, "process_resident_memory_bytes"),
    acked,
    bounds,
  };
}

/** The samples of each node with those of one more answer. A node that did not answer gets none, which leaves a gap; one that is gone is forgotten. */
export function addSamples(of: ReadonlyMap<string, readonly Sample[]>, nodes: readonly NodeReport[], timeMs: number): Map<string, readonly Sample[]> {
  return new Map(
    nodes.map((n) => {
      const earlier = of.get(n.name) ?? [];
      return [n.name, n.answered ? [...earlier, sampleOf(n, timeMs)].slice(-mostSamples) : earlier];
    }),
  );
}

type Counter = "sends" | "events" | "cpuSeconds";

/** By how much a counter rose per second between two samples; undefined if the process was restarted between them. */
export function rateBetween(a: Sample | undefined, b: Sample | undefined, counter: Counter): number | undefined {
  if (!a || !b || a.startedMs !== b.startedMs || b.timeMs <= a.timeMs) return undefined;
  return ((b[counter] - a[counter]) * 1000) / (b.timeMs - a.timeMs);
}

/** The rate of a counter at each sample but the first. */
export function rates(samples: readonly Sample[], counter: Counter): Point[] {
  return samples.slice(1).map((s, i) => ({ timeMs: s.timeMs, value: rateBetween(samples[i], s, counter) }));
}

export interface Point {
  timeMs: number;
  /** Undefined: it is not known. */
  value: number | undefined;
}

/**
 * The time in seconds within which a share of the sends between two samples was acknowledged, from a histogram, interpolated within its bucket. Undefined if there were none.
 * Beyond the last bound, it is that bound.
 */
export function quantileBetween(a: Sample | undefined, b: Sample | undefined, share: number): number | undefined {
  if (!a || !b || a.startedMs !== b.startedMs) return undefined;
  const counts = b.acked.map((n, i) => n - (a.acked[i] ?? 0));
  const all = counts[b.bounds.length] ?? 0;
  if (all <= 0) return undefined;
  const rank = share * all;
  const at = counts.findIndex((n) => n >= rank);
  const bound = b.bounds[at];
  if (bound === undefined) return b.bounds[b.bounds.length - 1];
  const below = at > 0 ? counts[at - 1]! : 0;
  const from = at > 0 ? b.bounds[at - 1]! : 0;
  const inside = counts[at]! - below;
  return inside > 0 ? from + ((bound - from) * (rank - below)) / inside : bound;
}

/** The newest sample that is at least some time older than the last one; else the oldest. */
function earlier(samples: readonly Sample[], last: Sample, ms: number): Sample | undefined {
  return samples.findLast((s) => s.timeMs <= last.timeMs - ms) ?? samples[0];
}

/** A quantile of latencies over the last half minute before each sample. */
export function quantiles(samples: readonly Sample[], share: number): Point[] {
  return samples.slice(1).map((s, i) => ({ timeMs: s.timeMs, value: quantileBetween(earlier(samples.slice(0, i + 1), s, latencyMs), s, share) }));
}
