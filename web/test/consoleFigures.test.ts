import { expect, test } from "vitest";
import { changesOf, readable } from "../src/console/JobDetails.js";
import { JobState, type NodeReport } from "../src/console/calls.js";
import { pathOf } from "../src/console/Plot.js";
import { addReadings, mostReadings, quantileBetween, quantiles, rateBetween, rates, type Reading, type Readings } from "../src/console/series.js";
import { en, zh } from "../src/console/text.js";

const reading = (timeMs: number, figures: Record<string, number> = {}, startedMs = 1): Reading => ({ timeMs, startedMs, figures: new Map(Object.entries(figures)), histograms: new Map() });
/** A reading with the histogram of one figure. */
const latencies = (timeMs: number, bounds: number[], counts: number[], startedMs = 1): Reading => ({ ...reading(timeMs, {}, startedMs), histograms: new Map([["acked", { bounds, counts }]]) });

test("a rate is the rise of a counter per second, and unknown across a restart", () => {
  expect(rateBetween(reading(1000, { sends: 10 }), reading(3000, { sends: 50 }), ["sends"])).toBe(20);
  expect(rateBetween(reading(1000, { sends: 10 }), reading(3000, { sends: 5 }, 2), ["sends"])).toBeUndefined();
  expect(rateBetween(reading(1000), reading(1000), ["sends"])).toBeUndefined();
  expect(rates([reading(0), reading(1000, { events: 1 }), reading(3000, { events: 5 })], ["events"]).map((p) => [p.timeMs, p.value])).toEqual([[1000, 1], [3000, 2]]);
});

test("a quantile is interpolated within the bucket that it is in, of what came between two samples", () => {
  const bounds = [0.001, 0.01, 0.1];
  const before = latencies(0, bounds, [100, 100, 100, 100]);
  const after = latencies(2000, bounds, [100, 110, 120, 120]);
  expect(quantileBetween(before, after, ["acked"], 0.25)).toBeCloseTo(0.001 + 0.009 / 2);
  expect(quantileBetween(before, after, ["acked"], 0.5)).toBeCloseTo(0.01);
  expect(quantileBetween(before, after, ["acked"], 0.75)).toBeCloseTo(0.055);
  expect(quantileBetween(before, before, ["acked"], 0.5)).toBeUndefined();
  expect(quantileBetween(latencies(0, bounds, [0, 0, 0, 0]), latencies(1, bounds, [0, 0, 0, 3]), ["acked"], 0.5)).toBe(0.1);
  expect(quantileBetween(before, { ...after, startedMs: 2 }, ["acked"], 0.5)).toBeUndefined();
});

test("latencies are those of the last half minute", () => {
  const bounds = [0.01];
  const list = Array.from({ length: 40 }, (_, i) => latencies(i * 1000, bounds, i === 0 ? [0, 0] : [4, 4]));
  const values = quantiles(list, ["acked"], 0.5, 30_000).map((p) => p.value);
  expect(values.slice(0, 30)).toEqual(Array.from({ length: 30 }, () => 0.005));
  expect(values.slice(30)).toEqual(Array.from({ length: 9 }, () => undefined));
});

test("histograms are read, and those of several figures are added up", () => {
  const histogram = (labels: string, counts: bigint[]) => ({ name: "seconds", labels, value: 1, bounds: [0.1, 1], counts });
  const report = (more: bigint) => ({ name: "a", answered: true, startedMs: 1n, figures: [histogram("call=send", [1n, 2n, 3n + more]), histogram("call=Send", [0n, 1n, 1n + more]), histogram("call=sync", [9n, 9n, 9n])] }) as unknown as NodeReport;
  let of: Readings = addReadings(new Map(), [report(0n)], 0, ["sec"]);
  of = addReadings(of, [report(2n)], 2000, ["sec"]);
  const keys = ["seconds{call=send}", "seconds{call=Send}"];
  expect(rates(of.get("a")!, keys).map((p) => p.value)).toEqual([2]);
  expect(quantiles(of.get("a")!, keys, 0.5, 30_000).map((p) => p.value)).toEqual([1]);
  for (let i = 2; i < mostReadings + 5; i++) of = addReadings(of, [report(2n)], i * 2000, ["sec"]);
  expect(of.get("a")).toHaveLength(mostReadings);
});

test("a line has a gap where its value is unknown", () => {
  const points = [1, undefined, 1, 2].map((value, timeMs) => ({ timeMs, value }));
  expect(pathOf(points, 0, 3, 2)).toBe("M0.0 48.0M213.3 48.0L320.0 2.0");
});

test("what can be done with a job depends on its state", () => {
  expect(changesOf(JobState.DISCARDED)).toEqual(["retry", "drop"]);
  expect(changesOf(JobState.CANCELLED)).toEqual(["retry"]);
  expect(changesOf(JobState.RUNNING)).toEqual(["discard"]);
  expect(changesOf(JobState.COMPLETED)).toEqual([]);
  expect(readable('{"a":[1]}')).toBe('{\n  "a": [\n    1\n  ]\n}');
  expect(readable("not JSON")).toBe("not JSON");
});

test("both languages fill the same blanks", () => {
  const blanks = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(String).sort();
  for (const key of Object.keys(en) as (keyof typeof en)[]) expect([key, blanks(zh[key])]).toEqual([key, blanks(en[key])]);
});
