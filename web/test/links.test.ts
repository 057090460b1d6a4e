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

// What a message may have at most. A search for the address's end that began again at each full stop took 17 s, and the app stood still.
const most = 100_000;
const fill = (head: string, part: string, tail = "") => head + part.repeat((most - head.length - tail.length) / part.length) + tail;

test.each([
  ["a long path", fill("https://example.com/", "a"), 1],
  ["full stops with something behind them", fill("https://example.com/", ".", "x"), 1],
  ["full stops at the end", fill("https://example.com/", "."), 1],
  ["brackets", fill("https://example.com/", "(", ")"), 1],
  ["closing brackets", fill("https://example.com/(", ")", "x"), 1],
  ["a query", fill("https://example.com/?", "a=b&"), 1],
  ["letters of other scripts", fill("https://example.com/", "路"), 1],
  ["emoji", fill("https://example.com/", "👩‍👧"), 1],
  ["half of a character", fill("https://example.com/", "\ud83d"), 1],
  ["a host that nobody has", fill("https://", "a"), 0],
  ["a host of many parts", fill("https://", "a."), 0],
  ["a host of other scripts", fill("https://", "ü"), 0],
  ["schemes only", fill("", "https://"), 1],
  ["many addresses", fill("", "http://a.b "), most / 11 - ((most / 11) % 1)],
])("an address of 100,000 characters: %s", (_, text, links) => {
  expect(hrefs(text).length).toBe(links);
  expect(parts(text).map((p) => p.text).join("")).toBe(text);
});
