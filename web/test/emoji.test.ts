import { expect, test } from "vitest";
import { emojiData } from "../emoji.js";

const find = (locale: string, emoji: string) => emojiData(locale).emojis.find((e) => e.emoji === emoji);

test("emoji have names in both languages, and English search words", () => {
  expect(find("en", "😀")).toMatchObject({ label: "grinning face", category: 0 });
  const zh = find("zh", "😀")!;
  expect(zh.label).toMatch(/[\u4e00-\u9fff]/);
  expect(zh.tags).toContain("smile");
});

test("hands have all five skin tones, in their order", () => {
  expect(find("en", "👋")!.skins).toEqual({ light: "👋🏻", "medium-light": "👋🏼", medium: "👋🏽", "medium-dark": "👋🏾", dark: "👋🏿" });
});

test("each emoji is in a category, once", () => {
  const { emojis, categories } = emojiData("zh");
  expect(new Set(emojis.map((e) => e.emoji)).size).toBe(emojis.length);
  expect(emojis.length).toBeGreaterThan(1_500);
  const known = new Set(categories.map((c) => c.index));
  expect(emojis.filter((e) => !known.has(e.category))).toEqual([]);
});
