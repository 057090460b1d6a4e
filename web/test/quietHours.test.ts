import { expect, test } from "vitest";
import { minutesOf, timeOf } from "../src/notifications/quietHours.js";

test("times of a day are minutes after midnight", () => {
  for (const [time, minutes] of [["00:00", 0], ["07:05", 425], ["22:30", 1350], ["23:59", 1439]] as const) {
    expect(minutesOf(time)).toBe(minutes);
    expect(timeOf(minutes)).toBe(time);
  }
  expect(minutesOf("22:30:15")).toBe(1350);
  expect(minutesOf("")).toBeUndefined();
});
