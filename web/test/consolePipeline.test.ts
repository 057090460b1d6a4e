import { expect, test } from "vitest";
import type { VideoStage } from "../src/console/calls.js";
import { placeStages, stageHeight, stageWidth } from "../src/console/pipelineGraph.js";

const stage = (name: string, ...inputs: string[]): VideoStage => ({ name, inputs }) as VideoStage;

test("stages are in columns behind their inputs, and implied edges are left out", () => {
  const graph = placeStages([stage("inspect"), stage("240p", "inspect"), stage("audio", "inspect"), stage("sheet", "240p", "inspect"), stage("publish", "240p", "audio", "sheet")]);
  const at = Object.fromEntries(graph.stages.map((p) => [p.stage.name, [Math.round(p.x / stageWidth), Math.round(p.y / stageHeight)]]));
  expect(at).toEqual({ inspect: [0, 0], "240p": [1, 0], audio: [1, 1], sheet: [3, 0], publish: [4, 0] });
  expect(graph.edges.map((e) => e.key)).toEqual(["inspect 240p", "inspect audio", "240p sheet", "audio publish", "sheet publish"]);
  expect(graph.edges[0]!.path).toBe("M168 28C196 28 196 28 224 28");
  expect([graph.width, graph.height]).toEqual([4 * stageWidth + 3 * 56, 2 * stageHeight + 16]);
});

test("a graph without stages, and an input that is not there", () => {
  expect(placeStages([])).toEqual({ width: 1, height: 1, stages: [], edges: [] });
  expect(placeStages([stage("a", "missing")]).edges).toEqual([]);
});
