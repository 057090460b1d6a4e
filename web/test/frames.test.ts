import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Frames } from "../src/frames.js";

let frame: (() => void) | undefined;
beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal("requestAnimationFrame", (f: () => void) => void (frame = f));
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

function setUp() {
  let change = () => {};
  const frames = new Frames((f) => {
    change = f;
    return () => {};
  });
  let passed = 0;
  frames.subscribe(() => passed++);
  return { change: () => change(), passed: () => passed, shown: frames.shown };
}

test("many changes are passed on once per frame, the last one too", () => {
  const { change, passed, shown } = setUp();
  for (let i = 0; i < 50; i++) change();
  expect(passed()).toBe(0);
  frame!();
  expect([passed(), shown()]).toEqual([1, 1]);
  vi.runAllTimers();
  expect(passed()).toBe(1);
  change();
  frame!();
  expect(passed()).toBe(2);
});

test("a page that is hidden, and has no frames, hears of changes all the same", () => {
  const { change, passed } = setUp();
  change();
  vi.runAllTimers();
  frame!(); // shown again, much later
  expect(passed()).toBe(1);
});
