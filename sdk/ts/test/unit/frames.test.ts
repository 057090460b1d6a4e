import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FrameStore } from "../../src/react/frames.js";

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
  let version = 0;
  const frames = new FrameStore(
    (f) => {
      change = f;
      return () => {};
    },
    () => version,
  );
  let passed = 0;
  frames.subscribe(() => passed++);
  return { change: () => (version++, change()), passed: () => passed, shown: frames.snapshot };
}

test("many changes are passed on once per frame, the last one too", () => {
  const { change, passed, shown } = setUp();
  for (let i = 0; i < 50; i++) change();
  expect(passed()).toBe(0);
  frame!();
  expect([passed(), shown()]).toEqual([1, 50]);
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

test("a change between the first rendering and the subscription is shown", () => {
  let version = 0;
  const frames = new FrameStore(
    () => () => {},
    () => version,
  );
  const rendered = frames.snapshot();
  version++;
  frames.subscribe(() => {});
  expect(frames.snapshot()).not.toBe(rendered);
});
