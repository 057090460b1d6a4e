import { expect, test } from "vitest";
import { dictionaries, translate, type Key } from "../src/i18n.js";

test("both languages say the same things, with the same blanks", () => {
  const keys = Object.keys(dictionaries.en) as Key[];
  expect(Object.keys(dictionaries.zh).sort()).toEqual([...keys].sort());
  const blanks = (s: string) => [...s.matchAll(/\{(\w+)\}/g)].map((m) => m[1]).sort();
  for (const k of keys) {
    expect(blanks(dictionaries.zh[k]), k).toEqual(blanks(dictionaries.en[k]));
    expect(dictionaries.zh[k].length, k).toBeGreaterThan(0);
  }
});

test("blanks are filled in", () => {
  expect(translate("en", "members", { n: 3 })).toBe("3 members");
  expect(translate("zh", "renamed", { who: "爱丽丝", text: "爬山" })).toBe("爱丽丝将群名改为“爬山”");
});
