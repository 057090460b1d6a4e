import { expect, test } from "vitest";
import reasons from "../../internal/platform/reconciliation/reasons.go?raw";
import { describeDifference, differenceTexts } from "../src/console/differenceText.js";
import { en, zh } from "../src/console/text.js";
import { fill } from "../src/locale.js";

const names = new Map([...reasons.matchAll(/^\t(\w+) +Reason = "(\w+)"$/gm)].map(([, name = "", reason = ""]) => [name, reason]));
const texts = [...reasons.matchAll(/^\t(\w+): +"(.*)",$/gm)].map(([, name = "", text = ""]) => ({ reason: names.get(name) ?? name, text }));
const blanks = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();

test("each reason for which two stores differ has a text in each language, with all its values", () => {
  expect(texts.length).toBeGreaterThan(10);
  expect(Object.keys(differenceTexts).sort()).toEqual(texts.map((t) => t.reason).sort());
  for (const { reason, text } of texts) {
    const key = differenceTexts[reason]!;
    expect(blanks(en[key]), reason).toEqual(blanks(text));
    expect(blanks(zh[key]), reason).toEqual(blanks(text));
    expect(zh[key], reason).toMatch(/\p{Script=Han}/u);
  }
});

test("a difference is described in the language of the console, and in the server's words if its reason is not known", () => {
  const d = { reason: "file_missing", values: { file: "video/07/7/a-0-1", others: "2" }, what: "x", unrepairable: true };
  expect(describeDifference(d, (key, values) => fill("en", en, key, values))).toBe("Its file video/07/7/a-0-1 is missing. At least 2 other files differ too. It cannot be repaired from here: put it back from a backup.");
  expect(describeDifference(d, (key, values) => fill("zh", zh, key, values))).toBe("文件 video/07/7/a-0-1 缺失。 另有至少 2 个文件不一致。 无法在此修复：请从备份恢复。");
  expect(describeDifference({ ...d, reason: "something_new", what: "the server's words" }, (key) => key)).toBe("the server's words");
});
