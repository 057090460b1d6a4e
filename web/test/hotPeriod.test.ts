import { expect, test } from "vitest";
import { periodStart } from "../src/hotPeriod.js";

test("a day begins at midnight UTC, and a week on Monday", () => {
  const of = (now: string) => [periodStart("today", Date.parse(now)), periodStart("week", Date.parse(now))].map((ms) => new Date(ms).toISOString());
  expect(of("2026-11-27T08:00:00Z")).toEqual(["2026-11-27T00:00:00.000Z", "2026-11-23T00:00:00.000Z"]);
  expect(of("2026-11-23T00:00:00Z")).toEqual(["2026-11-23T00:00:00.000Z", "2026-11-23T00:00:00.000Z"]);
  expect(of("2026-11-22T23:59:59Z")).toEqual(["2026-11-22T00:00:00.000Z", "2026-11-16T00:00:00.000Z"]);
});
