import { expect, test } from "vitest";
import { changesOf, readable } from "../src/console/JobDetails.js";
import { JobState, type NodeReport } from "../src/console/calls.js";
import { pathOf } from "../src/console/Plot.js";
import { addSamples, mostSamples, quantileBetween, quantiles, rateBetween, rates, sampleOf, type Sample } from "../src/console/samples.js";
import { en, zh } from "../src/console/text.js";

const sample = (timeMs: number, over: Partial<Sample> = {}): Sample => ({ timeMs, startedMs: 1, connections: 0, sends: 0, events: 0, cpuSeconds: 0, memoryBytes: 0, acked: [], bounds: [], ...over });

test("a rate is the rise of a counter per second, and unknown across a restart", () => {
  expect(rateBetween(sample(1000, { sends: 10 }), sample(3000, { sends: 50 }), "sends")).toBe(20);
  expect(rateBetween(sample(1000, { sends: 10 }), sample(3000, { sends: 5, startedMs: 2 }), "sends")).toBeUndefined();
  expect(rateBetween(sample(1000), sample(1000), "sends")).toBeUndefined();
  expect(rates([sample(0), sample(1000, { events: 1 }), sample(3000, { events: 5 })], "events").map((p) => [p.timeMs, p.value])).toEqual([[1000, 1], [3000, 2]]);
});

test("a quantile is interpolated within the bucket that it is in, of what came between two samples", () => {
  const bounds = [0.001, 0.01, 0.1];
  const before = sample(0, { bounds, acked: [100, 100, 100, 100] });
  const after = sample(2000, { bounds, acked: [100, 110, 120, 120] });
  expect(quantileBetween(before, after, 0.25)).toBeCloseTo(0.001 + 0.009 / 2);
  expect(quantileBetween(before, after, 0.5)).toBeCloseTo(0.01);
  expect(quantileBetween(before, after, 0.75)).toBeCloseTo(0.055);
  expect(quantileBetween(before, before, 0.5)).toBeUndefined();
  expect(quantileBetween(sample(0, { bounds, acked: [0, 0, 0, 0] }), sample(1, { bounds, acked: [0, 0, 0, 3] }), 0.5)).toBe(0.1);
  expect(quantileBetween(before, { ...after, startedMs: 2 }, 0.5)).toBeUndefined();
});

test("latencies are those of the last half minute", () => {
  const bounds = [0.01];
  const list = Array.from({ length: 40 }, (_, i) => sample(i * 1000, { bounds, acked: i === 0 ? [0, 0] : [4, 4] }));
  const values = quantiles(list, 0.5).map((p) => p.value);
  expect(values.slice(0, 30)).toEqual(Array.from({ length: 30 }, () => 0.005));
  expect(values.slice(30)).toEqual(Array.from({ length: 9 }, () => undefined));
});

test("samples are kept for five minutes; a node that does not answer keeps its own, and one that is gone is forgotten", () => {
  const report = (name: string, answered = true) => ({ name, answered, startedMs: 1n, figures: [{ name: "rialto_connections", labels: "", value: 7 }] }) as unknown as NodeReport;
  let samples: ReadonlyMap<string, readonly Sample[]> = new Map();
  for (let i = 0; i < mostSamples + 5; i++) samples = addSamples(samples, [report("a"), report("b")], i);
  expect(samples.get("a")!.length).toBe(mostSamples);
  expect(samples.get("a")!.at(-1)).toMatchObject({ timeMs: mostSamples + 4, connections: 7 });
  samples = addSamples(samples, [report("a", false)], 1000);
  expect([...samples.keys()]).toEqual(["a"]);
  expect(samples.get("a")!.at(-1)!.timeMs).toBe(mostSamples + 4);
});

test("sends on sockets and by calls are added up", () => {
  const latency = (labels: string, counts: bigint[]) => ({ name: "rialto_call_seconds", labels, value: 1, bounds: [0.1, 1], counts });
  const figures = [latency("call=send", [1n, 2n, 3n]), latency("call=/rialto.chat.v1.ChatService/Send", [0n, 1n, 1n]), latency("call=sync", [9n, 9n, 9n])];
  expect(sampleOf({ startedMs: 1n, figures } as unknown as NodeReport, 5)).toMatchObject({ timeMs: 5, sends: 4, acked: [1, 3, 4], bounds: [0.1, 1] });
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
