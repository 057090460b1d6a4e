import { expect, test } from "vitest";
import { toggleMark } from "../src/components/formatting.js";

/** Toggles a mark in a text whose selection is between "[" and "]". */
function toggled(marked: string, mark: string): string {
  const start = marked.indexOf("[");
  const end = marked.indexOf("]") - 1;
  const r = toggleMark(marked.replace(/[[\]]/g, ""), start, end, mark);
  return `${r.text.slice(0, r.start)}[${r.text.slice(r.start, r.end)}]${r.text.slice(r.end)}`;
}

test.each([
  ["a [b] c", "**", "a **[b]** c"],
  ["a **[b]** c", "**", "a [b] c"],
  ["a **[b]** c", "*", "a ***[b]*** c"],
  ["a ***[b]*** c", "*", "a **[b]** c"],
  ["a ***[b]*** c", "**", "a *[b]* c"],
  ["a *[b]* c", "**", "a ***[b]*** c"],
  ["[]", "**", "**[]**"],
  ["**[]**", "**", "[]"],
  ["**[b]* c", "**", "****[b]*** c"],
])("%s with %s is %s", (before, mark, after) => {
  expect(toggled(before, mark)).toBe(after);
});
