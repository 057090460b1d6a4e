import { expect, test } from "vitest";
import { cachesOf, fileCacheOf, ratioLine } from "../src/console/CachesPage.js";
import type { NodeReport } from "../src/console/calls.js";
import { rateText } from "../src/console/LimitsPage.js";
import { addReadings, hitRatio, keysOf, labelsOf, mostReadings, ratePerSecond, riseOf, total, type Readings } from "../src/console/series.js";
import { en } from "../src/console/text.js";

const report = (name: string, figures: [string, string, number][], startedMs = 1n) => ({ name, answered: true, startedMs, figures: figures.map(([n, labels, value]) => ({ name: n, labels, value })) }) as unknown as NodeReport;
const silent = (name: string) => ({ name, answered: false, startedMs: 0n, figures: [] }) as unknown as NodeReport;
const prefixes = ["rialto_cache_", "rialto_cold_"];
const reads = (local: number, loaded: number): [string, string, number][] => [
  ["rialto_cache_reads_total", "cache=users,from=local", local],
  ["rialto_cache_loaded_keys_total", "cache=users", loaded],
  ["other", "", 9],
];

test("readings are of the figures that are asked for; a silent node keeps its own, and one that is gone is forgotten", () => {
  let of: Readings = new Map();
  for (let i = 0; i < mostReadings + 5; i++) of = addReadings(of, [report("a", reads(i, 0)), report("b", reads(i, 0))], i * 2000, prefixes);
  expect(of.get("a")).toHaveLength(mostReadings);
  of = addReadings(of, [silent("a")], 1e9, prefixes);
  expect([...of.keys()]).toEqual(["a"]);
  expect(of.get("a")).toHaveLength(mostReadings);
  expect([...of.get("a")!.at(-1)!.figures.keys()]).toEqual(["rialto_cache_reads_total{cache=users,from=local}", "rialto_cache_loaded_keys_total{cache=users}"]);
  expect(labelsOf("cache=users,from=local")).toEqual({ cache: "users", from: "local" });
});

test("a ratio is of the hits and misses of all nodes within the window, and unknown without either or across a restart", () => {
  let of: Readings = new Map();
  of = addReadings(of, [report("a", reads(1000, 1000)), report("b", reads(0, 0))], 0, prefixes);
  of = addReadings(of, [report("a", reads(1010, 1000)), report("b", reads(0, 0))], 2000, prefixes);
  const caches = cachesOf(of);
  expect(caches.map((c) => c.name)).toEqual(["users"]);
  const { local, misses } = caches[0]!;
  expect(hitRatio(of, local, misses, 30_000)).toBe(1);
  of = addReadings(of, [report("a", reads(1010, 1000)), report("b", reads(20, 10))], 4000, prefixes);
  expect(hitRatio(of, local, misses, 30_000)).toBe(0.75);
  expect(hitRatio(of, local, misses, 2000)).toBeCloseTo(2 / 3);
  expect(ratePerSecond(of, local, 30_000)).toBe(30 / 4);
  expect(ratioLine(of, caches[0]!).map((p) => p.value)).toEqual([1, 0.75]);
  expect(total(of, local[0]!)).toBe(1030);
  of = addReadings(of, [report("a", reads(5, 5), 2n)], 6000, prefixes);
  expect(riseOf(of.get("a")!, local[0]!, 30_000)).toBeUndefined();
  expect(hitRatio(of, local, misses, 30_000)).toBeUndefined();
});

test("blocks of packed messages are a cache", () => {
  const of = addReadings(new Map(), [report("a", [["rialto_cold_reads_total", "from=cache", 1], ["rialto_cold_reads_total", "from=file", 2]])], 0, prefixes);
  expect(cachesOf(of)).toEqual([{ name: "cold", local: ["rialto_cold_reads_total{from=cache}"], elsewhere: [], misses: ["rialto_cold_reads_total{from=file}"] }]);
  expect(keysOf(of, "rialto_cold_reads_total").map((k) => k.labels["from"])).toEqual(["cache", "file"]);
  expect(keysOf(of, "rialto_cold")).toEqual([]);
});

test("rates are written as in settings", () => {
  const t = ((key: keyof typeof en, values?: Record<string, string>) => en[key].replace("{n}", values?.["n"] ?? "")) as Parameters<typeof rateText>[1];
  expect([5000, 2, 100 / 3600, 0.5, Infinity].map((n) => rateText(n, t))).toEqual(["5,000/s", "2/s", "1.7/min", "30/min", "no limit"]);
  expect(rateText(10 / 3600, t)).toBe("10/h");
});

test("the cache of files of an edge has its ratios, what it has on disk, and what it was told", () => {
  const at = (hit: number, miss: number, given: number, fetched: number): [string, string, number][] => [
    ["rialto_file_cache_reads_total", "result=hit", hit], ["rialto_file_cache_reads_total", "result=joined", 0], ["rialto_file_cache_reads_total", "result=miss", miss],
    ["rialto_file_cache_bytes_total", "from=cache", given], ["rialto_file_cache_bytes_total", "from=origin", fetched],
    ["rialto_file_cache_bytes", "", 77], ["rialto_file_cache_evictions_total", "", 3], ["rialto_edge_purges_total", "", 5],
  ];
  let of: Readings = new Map();
  of = addReadings(of, [report("e", at(0, 0, 0, 0))], 0, ["rialto_file_cache_", "rialto_edge_"]);
  of = addReadings(of, [report("e", at(3, 1, 1000, 100))], 2000, ["rialto_file_cache_", "rialto_edge_"]);
  expect(fileCacheOf("e", of.get("e")!)).toEqual({ ratio: 0.75, backToOrigin: 0.1, served: 500, fetched: 50, disk: 77, evictions: 3, purges: 5, lag: undefined });
  expect(fileCacheOf("e", [])).toMatchObject({ ratio: undefined, backToOrigin: undefined, disk: undefined });
});
