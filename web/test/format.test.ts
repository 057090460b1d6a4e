import { expect, test } from "vitest";
import { bytes, day, tag, when } from "../src/format.js";
import { translate, type Translate } from "../src/i18n.js";

const t: Translate = (key, values) => translate("en", key, values);
const now = new Date(2026, 10, 21, 12, 0).getTime();

test("days have names where they are near", () => {
  expect(day(new Date(2026, 10, 21, 1, 0).getTime(), "en", t, now)).toBe("Today");
  expect(day(new Date(2026, 10, 20, 23, 59).getTime(), "en", t, now)).toBe("Yesterday");
  expect(day(new Date(2025, 0, 3).getTime(), "en", t, now)).toContain("2025");
  expect(when(new Date(2026, 10, 20, 9, 0).getTime(), "en", t, now)).toBe("Yesterday");
});

test("sizes are short", () => {
  expect(bytes(999, "en")).toBe("999 B");
  expect(bytes(1_540_000, "en")).toBe("1.5 MB");
});

test("times have the form of one's own region", () => {
  expect(tag("en", ["de", "en-GB", "en-US"])).toBe("en-GB");
  expect(tag("zh", ["en-US", "zh-TW"])).toBe("zh-TW");
  expect(tag("zh", ["en-US"])).toBe("zh-CN");
});
