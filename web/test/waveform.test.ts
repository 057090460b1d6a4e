import { expect, test } from "vitest";
import { length } from "../src/format.js";
import { resample } from "../src/waveform.js";

test("a waveform has the loudest of each of 64 parts", () => {
  const levels = Array.from({ length: 640 }, (_, i) => (i % 10 === 3 ? 200 : 10));
  expect([...resample(levels)]).toEqual(Array.from({ length: 64 }, () => 200));
  const one = Array.from({ length: 100 }, (_, i) => (i === 99 ? 255 : 1));
  expect(resample(one)).toHaveLength(64);
  expect(resample(one)[63]).toBe(255);
});

test("a short recording has as many samples as were measured", () => {
  expect([...resample([1, 2, 3])]).toEqual([1, 2, 3]);
  expect([...resample([])]).toEqual([]);
});

test("lengths have minutes and seconds", () => {
  expect([0, 999, 61_000, 600_400].map(length)).toEqual(["0:00", "0:01", "1:01", "10:00"]);
});
