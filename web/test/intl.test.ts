import { afterEach, expect, test, vi } from "vitest";
import { dates, tag } from "../src/intl.js";

afterEach(() => vi.unstubAllGlobals());

test("times have the form of one's own region", () => {
  expect(tag("en", ["de", "en-GB", "en-US"])).toBe("en-GB");
  expect(tag("zh", ["en-US", "zh-TW"])).toBe("zh-TW");
  expect(tag("zh", ["en-US"])).toBe("zh-CN");
});

test("a formatter is made once for each region and form", () => {
  vi.stubGlobal("navigator", { languages: ["en-GB"] });
  const british = dates("en", "clock");
  expect(dates("en", "clock")).toBe(british);
  expect(dates("en", "day")).not.toBe(british);
  expect(british.resolvedOptions().locale).toBe("en-GB");
  vi.stubGlobal("navigator", { languages: ["en-US"] });
  expect(dates("en", "clock").resolvedOptions().locale).toBe("en-US");
  expect(dates("zh", "clock").resolvedOptions().locale).toBe("zh-CN");
});
