import { expect, test } from "vitest";
import { parts } from "../src/links.js";

const hrefs = (s: string) => parts(s).flatMap((p) => (p.href ? [p.href] : []));

test.each([
  ["see https://example.com/a?b=c#d.", ["https://example.com/a?b=c#d"]],
  ["（https://example.com/路径）很好", ["https://example.com/路径"]],
  ["https://en.wikipedia.org/wiki/Rialto_(Venice), and http://a.b", ["https://en.wikipedia.org/wiki/Rialto_(Venice)", "http://a.b"]],
  ["javascript:alert(1) data:text/html,x ftp://a", []],
  ["https:// http://", []],
  ["“https://example.com”", ["https://example.com"]],
  ["", []],
])("%s", (text, want) => {
  expect(hrefs(text)).toEqual(want);
  expect(parts(text).map((p) => p.text).join("")).toBe(text);
});
