import type { NodeReport } from "./calls.js";

/** How many readings are kept: five minutes, at one in two seconds. */
export const mostReadings = 150;

export interface Point {
  timeMs: number;
  /** Undefined: it is not known. */
  value: number | undefined;
}

/** Figures of one report, by name and labels. */
export type Figures = ReadonlyMap<string, number>;

/** How many values were at most each of bounds, and in all. */
export interface Histogram {
  bounds: readonly number[];
  counts: readonly number[];
}

/** Figures of a node at a time. */
export interface Reading {
  timeMs: number;
  startedMs: number;
  figures: Figures;
  histograms: ReadonlyMap<string, Histogram>;
}

/** The readings of each node, the oldest first. */
export type Readings = ReadonlyMap<string, readonly Reading[]>;

export const figureKey = (name: string, labels = ""): string => (labels ? `${name}{${labels}}` : name);

/** The labels of a figure, such as cache=users,from=local. Values have neither comma nor equals sign. */
export function labelsOf(labels: string): Record<string, string> {
  return Object.fromEntries(labels.split(",").filter(Boolean).map((l) => l.split("=", 2) as [string, string]));
}

/** The readings with those of one more answer. Only figures whose names begin with one of the prefixes are kept. A node that did not answer gets none; one that is gone is forgotten. */
export function addReadings(of: Readings, nodes: readonly NodeReport[], timeMs: number, prefixes: readonly string[]): Readings {
  return new Map(
    nodes.map((n) => {
      const earlier = of.get(n.name) ?? [];
      if (!n.answered) return [n.name, earlier];
      const kept = n.figures.filter((f) => prefixes.some((p) => f.name.startsWith(p)));
      const figures = new Map(kept.map((f) => [figureKey(f.name, f.labels), f.value]));
      const histograms = new Map(kept.filter((f) => f.bounds?.length > 0).map((f) => [figureKey(f.name, f.labels), { bounds: f.bounds, counts: f.counts.map(Number) }]));
      return [n.name, [...earlier, { timeMs, startedMs: Number(n.startedMs), figures, histograms }].slice(-mostReadings)];
    }),
  );
}

/** The value of a counter; of a histogram, how many values it has. */
function counterOf(r: Reading, key: string): number | undefined {
  return r.histograms.get(key)?.counts.at(-1) ?? r.figures.get(key);
}

/** By how much counters rose per second between two readings, together; undefined if the process was restarted between them. */
export function rateBetween(a: Reading | undefined, b: Reading | undefined, keys: readonly string[]): number | undefined {
  if (!a || !b || a.startedMs !== b.startedMs || b.timeMs <= a.timeMs) return undefined;
  const sum = (r: Reading) => keys.reduce((n, key) => n + (counterOf(r, key) ?? 0), 0);
  return ((sum(b) - sum(a)) * 1000) / (b.timeMs - a.timeMs);
}

/** The rate of counters together at each reading but the first. */
export function rates(readings: readonly Reading[], keys: readonly string[]): Point[] {
  return readings.slice(1).map((r, i) => ({ timeMs: r.timeMs, value: rateBetween(readings[i], r, keys) }));
}

/**
 * The value that a share of those between two readings is at most, from histograms of the same bounds, interpolated within its bucket. Undefined if there were none. Beyond the last bound, it is that
 * bound.
 */
export function quantileBetween(a: Reading | undefined, b: Reading | undefined, keys: readonly string[], share: number): number | undefined {
  if (!a || !b || a.startedMs !== b.startedMs) return undefined;
  const bounds = keys.map((key) => b.histograms.get(key)?.bounds).find((list) => list !== undefined) ?? [];
  const sum = (r: Reading, i: number) => keys.reduce((n, key) => n + (r.histograms.get(key)?.counts[i] ?? 0), 0);
  const counts = Array.from({ length: bounds.length + 1 }, (_, i) => sum(b, i) - sum(a, i));
  const all = counts[bounds.length] ?? 0;
  if (all <= 0) return undefined;
  const rank = share * all;
  const at = counts.findIndex((n) => n >= rank);
  const bound = bounds[at];
  if (bound === undefined) return bounds[bounds.length - 1];
  const below = at > 0 ? counts[at - 1]! : 0;
  const from = at > 0 ? bounds[at - 1]! : 0;
  const inside = counts[at]! - below;
  return inside > 0 ? from + ((bound - from) * (rank - below)) / inside : bound;
}

/** The newest reading that is at least some time older than the last one; else the oldest. */
function earlier(readings: readonly Reading[], last: Reading, ms: number): Reading | undefined {
  return readings.findLast((r) => r.timeMs <= last.timeMs - ms) ?? readings[0];
}

/** A quantile of histograms over some time before each reading. */
export function quantiles(readings: readonly Reading[], keys: readonly string[], share: number, ms: number): Point[] {
  return readings.slice(1).map((r, i) => ({ timeMs: r.timeMs, value: quantileBetween(earlier(readings.slice(0, i + 1), r, ms), r, keys, share) }));
}

/** By how much a counter of a node rose over the last readings, at most so many milliseconds; undefined: it is not known, as after a restart. */
export function riseOf(readings: readonly Reading[], key: string, ms: number): { by: number; seconds: number } | undefined {
  const last = readings.at(-1);
  if (!last) return undefined;
  const first = earlier(readings, last, ms)!;
  if (first === last || first.startedMs !== last.startedMs || !last.figures.has(key)) return undefined;
  return { by: last.figures.get(key)! - (first.figures.get(key) ?? 0), seconds: (last.timeMs - first.timeMs) / 1000 };
}

/** How often counters rose per second on all nodes together; undefined: it is known of none. */
export function ratePerSecond(of: Readings, keys: readonly string[], ms: number): number | undefined {
  let sum: number | undefined;
  for (const readings of of.values()) {
    for (const key of keys) {
      const rise = riseOf(readings, key, ms);
      if (rise) sum = (sum ?? 0) + rise.by / rise.seconds;
    }
  }
  return sum;
}

/** The share of hits among hits and misses of all nodes over the last readings; undefined: there was neither. */
export function hitRatio(of: Readings, hits: readonly string[], misses: readonly string[], ms: number): number | undefined {
  const rise = (keys: readonly string[]) => [...of.values()].flatMap((r) => keys.map((k) => riseOf(r, k, ms)?.by ?? 0)).reduce((a, b) => a + b, 0);
  const found = rise(hits);
  const all = found + rise(misses);
  return all > 0 ? found / all : undefined;
}

/** A gauge of each node over time. */
export function gaugeLines(of: Readings, key: string): { name: string; points: Point[] }[] {
  return [...of].map(([name, readings]) => ({ name, points: readings.map((r) => ({ timeMs: r.timeMs, value: r.figures.get(key) })) }));
}

/** What all nodes have of a gauge; undefined: none has it. */
export function total(of: Readings, key: string): number | undefined {
  const values = [...of.values()].flatMap((r) => r.at(-1)?.figures.get(key) ?? []);
  return values.length > 0 ? values.reduce((a, b) => a + b, 0) : undefined;
}

/** The keys of the figures with a name that the last readings have, with their labels. */
export function keysOf(of: Readings, name: string): { key: string; labels: Record<string, string> }[] {
  const keys = new Set([...of.values()].flatMap((r) => [...(r.at(-1)?.figures.keys() ?? [])]));
  return [...keys].filter((k) => k === name || k.startsWith(`${name}{`)).sort().map((key) => ({ key, labels: labelsOf(key.slice(name.length + 1, -1)) }));
}
