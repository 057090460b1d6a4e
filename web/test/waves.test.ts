import { expect, test } from "vitest";
import { readWaveSeconds, readWaves } from "../src/waves.js";

test("waves are percentages that rise to 100, which is added", () => {
  expect(readWaves("1, 10, 100")).toEqual([1, 10, 100]);
  expect(readWaves("1%，10%")).toEqual([1, 10, 100]);
  expect(readWaves("25、50 75")).toEqual([25, 50, 75, 100]);
  expect(readWaves("100")).toEqual([100]);
  expect(readWaves("1 2 3 4 5 6 7 8 9")).toHaveLength(10);
  for (const wrong of ["", " , ", "0, 100", "10, 10, 100", "10, 5", "50, 101", "100, 100", "-1, 100", "1.5", "half", "1 2 3 4 5 6 7 8 9 10"]) expect(readWaves(wrong), wrong).toBeUndefined();
});

test("waves are at most a week apart", () => {
  expect(readWaveSeconds("1", "hours")).toBe(3_600);
  expect(readWaveSeconds("7", "days")).toBe(604_800);
  expect(readWaveSeconds("10080", "minutes")).toBe(604_800);
  for (const [count, unit] of [["8", "days"], ["10081", "minutes"], ["0", "hours"], ["", "hours"], ["1.5", "hours"], ["-1", "hours"], ["x", "days"]] as const) {
    expect(readWaveSeconds(count, unit), `${count} ${unit}`).toBeUndefined();
  }
});
