import type { NodeReport } from "./calls.js";
import { mostSamples, type Point } from "./samples.js";

/** Figures of one report, by name and labels. */
export type Figures = ReadonlyMap<string, number>;

/** Figures of a node at a time. */
export interface Reading {
  timeMs: number;
  startedMs: number;
  figures: Figures;
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
      const figures = new Map(n.figures.filter((f) => prefixes.some((p) => f.name.startsWith(p))).map((f) => [figureKey(f.name, f.labels), f.value]));
      return [n.name, [...earlier, { timeMs, startedMs: Number(n.startedMs), figures }].slice(-mostSamples)];
    }),
  );
}

/** By how much a counter of a node rose over the last readings, at most so many milliseconds; undefined: it is not known, as after a restart. */
export function riseOf(readings: readonly Reading[], key: string, ms: number): { by: number; seconds: number } | undefined {
  const last = readings.at(-1);
  if (!last) return undefined;
  const first = readings.findLast((r) => r.timeMs <= last.timeMs - ms) ?? readings[0]!;
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
