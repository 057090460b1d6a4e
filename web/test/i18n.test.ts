import { expect, test } from "vitest";
import { dictionaries, translate, type Key } from "../src/i18n.js";
import { en as consoleTexts } from "../src/console/text.js";

test("both languages say the same things, with the same blanks", () => {
  const keys = Object.keys(dictionaries.en) as Key[];
  expect(Object.keys(dictionaries.zh).sort()).toEqual([...keys].sort());
  const blanks = (s: string) => [...s.matchAll(/\{(\w+)\}/g)].map((m) => m[1]).sort();
  for (const k of keys) {
    expect(blanks(dictionaries.zh[k]), k).toEqual(blanks(dictionaries.en[k]));
    expect(dictionaries.zh[k].length, k).toBeGreaterThan(0);
  }
});

test("each text is shown somewhere", () => {
  const files = import.meta.glob<string>(["../src/**/*.{ts,tsx}", "!../src/text/*"], { query: "?raw", import: "default", eager: true });
  const code = Object.values(files).join("\n");
  const keys = Object.keys(dictionaries.en).map((k) => k.replace(/(Zero|One|Two|Few|Many)$/, ""));
  expect(keys.filter((k) => !code.includes(`"${k}"`))).toEqual([]);
});

test("English texts that count have a form for one", () => {
  const texts: Record<string, string> = { ...dictionaries.en, ...consoleTexts };
  const without = Object.keys(texts).filter((k) => !k.endsWith("One") && /(?<!at most )\{n\} (?!of )(\p{L}+ )?\p{L}+s\b/u.test(texts[k]!) && !texts[`${k}One`]);
  expect(without).toEqual([]);
});

test("blanks are filled in", () => {
  expect(translate("en", "members", { n: 3 })).toBe("3 members");
  expect(translate("en", "members", { n: 1 })).toBe("1 member");
  expect(translate("en", "members", { n: 3_000 })).toBe("3,000 members");
  expect(translate("zh", "members", { n: 1 })).toBe(dictionaries.zh.members.replace("{n}", "1")); // Chinese has one form
  expect(translate("zh", "renamed", { who: "爱丽丝", text: "爬山" })).toBe("爱丽丝将群名改为“爬山”");
});
