import { expect, test } from "vitest";
import { changeOf, follows, indexFrom, type Scroll } from "../src/messageRows.js";

const rows = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => ({ seq: from + i }));

test("older messages shift the list, newer ones do not", () => {
  expect(changeOf(rows(51, 100), rows(1, 100))).toEqual({ messages: rows(1, 100), shift: true, replaced: false });
  expect(changeOf(rows(51, 100), rows(51, 103))).toEqual({ messages: rows(51, 103), shift: false, replaced: false });
  expect(changeOf(rows(51, 100), rows(60, 100))).toEqual({ messages: rows(60, 100), shift: true, replaced: false });
  expect(changeOf([], rows(1, 50))).toEqual({ messages: rows(1, 50), shift: false, replaced: false });
  expect(changeOf(rows(1, 50), [])).toEqual({ messages: [], shift: false, replaced: false });
});

test("messages that come in at both ends at once are rendered in two steps", () => {
  const now = rows(1, 102);
  const first = changeOf(rows(51, 100), now);
  expect(first).toEqual({ messages: rows(1, 100), shift: true, replaced: false });
  expect(changeOf(first.messages, now)).toEqual({ messages: now, shift: false, replaced: false });
});

test("other messages, as after a jump, replace the list", () => {
  expect(changeOf(rows(901, 1000), rows(80, 179)).replaced).toBe(true);
  expect(changeOf(rows(80, 179), rows(951, 1000)).replaced).toBe(true);
  expect(changeOf(rows(80, 179), rows(60, 160)).replaced).toBe(true);
});

test("the first message at or after a seq", () => {
  const gaps = rows(10, 60).filter((r) => r.seq % 7 !== 0);
  expect(indexFrom(gaps, 1)).toBe(0);
  expect(gaps[indexFrom(gaps, 21)]).toEqual({ seq: 22 });
  expect(indexFrom(gaps, 61)).toBe(gaps.length);
  expect(indexFrom([], 5)).toBe(0);
});

const at = (above: number, below: number, view = 600): Scroll => ({ view, above, below });

test("a view that follows the end goes on until somebody scrolls up", () => {
  expect(follows(true, at(4400, 0), at(4390, 10))).toBe(false); // however little
  expect(follows(true, at(4400, 0), at(4400, 120))).toBe(true); // a message came in, or a picture
  expect(follows(true, at(4400, 0), at(4400, 48, 552))).toBe(true); // a keyboard came up
  expect(follows(true, at(4400, 0), at(4424, 0))).toBe(true); // a row above is higher than was estimated
  expect(follows(true, at(4400, 0), at(4360, 60))).toBe(true); // rows above are lower than was estimated, and those below higher
});

test("a view is at the end again when somebody scrolls down to it", () => {
  expect(follows(false, at(4100, 300), at(4200, 200))).toBe(false);
  expect(follows(false, at(4310, 90), at(4330, 70))).toBe(true);
  expect(follows(false, at(4330, 70), at(4399, 1))).toBe(true);
});

test("a row that is measured does not bring a view back to the end that is leaving it", () => {
  expect(follows(false, at(4390, 10), at(4370, 30))).toBe(false);
  expect(follows(false, at(4370, 30), at(4394, 30))).toBe(false);
});
