import { expect, test } from "vitest";
import type { VideoStage } from "../src/console/calls.js";
import { placeStages, stageHeight, stageWidth } from "../src/console/pipelineGraph.js";

const stage = (name: string, ...inputs: string[]): VideoStage => ({ name, inputs, sharesWith: [] as string[] }) as VideoStage;

test("stages are in columns behind their inputs, and implied edges are left out", () => {
  const graph = placeStages([stage("inspect"), stage("240p", "inspect"), stage("audio", "inspect"), stage("sheet", "240p", "inspect"), stage("publish", "240p", "audio", "sheet")]);
  const at = Object.fromEntries(graph.stages.map((p) => [p.stage.name, [Math.round(p.x / stageWidth), Math.round(p.y / stageHeight)]]));
  expect(at).toEqual({ inspect: [0, 0], "240p": [1, 0], audio: [1, 1], sheet: [3, 0], publish: [4, 0] });
  expect(graph.edges.map((e) => e.key)).toEqual(["inspect 240p", "inspect audio", "240p sheet", "audio publish", "sheet publish"]);
  expect(graph.edges[0]!.path).toBe("M168 28C196 28 196 28 224 28");
  expect([graph.width, graph.height]).toEqual([4 * stageWidth + 3 * 56, 2 * stageHeight + 16]);
});

test("a graph without stages, and an input that is not there", () => {
  expect(placeStages([])).toEqual({ width: 1, height: 1, stages: [], edges: [], frames: [] });
  expect(placeStages([stage("a", "missing")]).edges).toEqual([]);
});

test("renditions that share runs have one frame, and others none", () => {
  const shared = (name: string, ...sharesWith: string[]): VideoStage => ({ ...stage(name, "inspect"), sharesWith });
  const graph = placeStages([stage("inspect"), stage("240p", "inspect"), shared("480p", "720p", "1440p"), shared("720p", "480p", "1440p"), stage("1080p", "inspect"), shared("1440p", "480p", "720p"), shared("2160p", "4320p"), shared("4320p", "2160p")]);
  const rows = graph.frames.map((f) => [f.key, Math.round((f.y + 5) / (stageHeight + 16)), Math.round(f.height / (stageHeight + 16))]);
  expect(rows).toEqual([["480p", 1, 2], ["1440p", 4, 1], ["2160p", 5, 2]]);
  expect(graph.frames.every((f) => f.x === stageWidth + 56 - 5 && f.width === stageWidth + 10)).toBe(true);
});
