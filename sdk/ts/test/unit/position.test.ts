import { expect, test } from "vitest";
import { isAfter, classifyEvent } from "../../src/position.js";

const at = { epoch: 2, seq: 10 };

test.each([
  ["the next", { epoch: 2, seq: 11, prev: 10 }, "next"],
  ["one that leaves some out", { epoch: 2, seq: 13, prev: 12 }, "gap"],
  ["the same again", { epoch: 2, seq: 10, prev: 9 }, "old"],
  ["an older one", { epoch: 2, seq: 4, prev: 3 }, "old"],
  ["one of an earlier epoch", { epoch: 1, seq: 99, prev: 98 }, "old"],
  ["the first of a later epoch", { epoch: 3, seq: 11, prev: 10 }, "gap"],
] as const)("%s", (_, event, order) => {
  expect(classifyEvent(at, event)).toBe(order);
});

test("with no position all is a gap", () => {
  expect(classifyEvent(undefined, { epoch: 1, seq: 1, prev: 0 })).toBe("gap");
});

test("positions are ordered by epoch, then seq", () => {
  expect(isAfter({ epoch: 2, seq: 1 }, { epoch: 1, seq: 9 })).toBe(true);
  expect(isAfter({ epoch: 2, seq: 1 }, { epoch: 2, seq: 1 })).toBe(false);
});
