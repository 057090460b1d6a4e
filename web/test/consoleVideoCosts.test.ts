import { expect, test } from "vitest";
import { costsOf } from "../src/console/VideoCosts.js";
import type { Readings } from "../src/console/series.js";

const node = (figures: Record<string, number>) => [{ timeMs: 0, startedMs: 1, figures: new Map(Object.entries(figures)), histograms: new Map() }];

test("the costs of all nodes are added, by renditions in their order and then by other parts", () => {
  const of: Readings = new Map([
    ["a", node({ "rialto_video_tasks_total{part=1080p}": 2, "rialto_video_tasks_total{part=audio}": 1, "rialto_video_tasks_total{part=240p}": 3, "rialto_video_processing_seconds_total{part=240p}": 1.5, "rialto_video_stored_bytes_total{part=240p}": 10 })],
    ["b", node({ "rialto_video_tasks_total{part=240p}": 4, "rialto_video_processing_seconds_total{part=240p}": 2 })],
  ]);
  expect(costsOf(of)).toEqual([
    { part: "240p", seconds: 3.5, bytes: 10, tasks: 7 },
    { part: "1080p", seconds: 0, bytes: 0, tasks: 2 },
    { part: "audio", seconds: 0, bytes: 0, tasks: 1 },
  ]);
  expect(costsOf(new Map())).toEqual([]);
});
