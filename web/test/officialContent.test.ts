import { expect, test } from "vitest";
import { sameParts } from "../src/officialContent.js";

test("parts of an account are compared by their contents", () => {
  const menu = () => [{ item: { title: "Hours", action: { case: "reply", value: { linkPreview: { atMs: 5n } } } }, items: [] }];
  expect(sameParts(menu(), menu())).toBe(true);
  expect(sameParts(menu(), [])).toBe(false);
  const later = menu();
  later[0]!.item.action.value.linkPreview.atMs = 6n;
  expect(sameParts(menu(), later)).toBe(false);
  expect(sameParts(undefined, undefined)).toBe(true);
  expect(sameParts(undefined, { rules: [] })).toBe(false);
});
