import { FileType, HitKind } from "@rialto-im/client";
import { expect, test } from "vitest";
import { isShortcut } from "../src/search/box.js";
import { dayMs, mostFrom, parseDay, plainFilter, queryOf, takeFilters, typedFilter, withFilter, type Filter, type Typed } from "../src/search/filters.js";
import { markedParts } from "../src/search/highlight.js";

const typed = (text: string, ...filters: Filter[]): Typed => ({ text, filters });

test.each([
  ["from:", 5, ["from", "", 0, 5]],
  ["lake from:@bo", 13, ["from", "@bo", 5, 13]],
  ["lake from:@bo boat", 9, ["from", "@bo", 5, 13]], // within the word
  ["湖 来自：小明", 7, ["from", "小明", 2, 7]],
  ["IN:Hike", 7, ["in", "Hike", 0, 7]],
  ["lake from:@bo boat", 18, undefined],
  ["from", 4, undefined],
  ["https://a.example", 17, undefined],
  ["begin:x", 7, undefined],
])("%s: the filter at the cursor", (text, cursor, want) => {
  const found = typedFilter(text, cursor);
  expect(found && [found.name, found.value, found.start, found.end]).toEqual(want);
});

test("filters that are typed to their end are taken out of the text; what is not known stays", () => {
  expect(takeFilters(typed("lake has:link kind:post boat"), plainFilter)).toEqual(typed("lake boat", { name: "kind", kind: "post" }, { name: "has", what: "link" }));
  expect(takeFilters(typed("kind:message"), plainFilter)).toEqual(typed("kind:message")); // still being typed
  const unknown = typed("from:@nobody kind:cats before:2026-02-30 https://a.example x");
  expect(takeFilters(unknown, plainFilter)).toBe(unknown);
  expect(takeFilters(typed("after:2026年1月3日 "), plainFilter)).toEqual(typed("", { name: "after", day: "2026-01-03" }));
});

test("of people and kinds there may be several, of other filters the last one counts", () => {
  const filters = [{ name: "from", user: "1" }, { name: "in", conversation: "7" }, { name: "from", user: "2" }, { name: "in", conversation: "8" }, { name: "from", user: "1" }] as Filter[];
  expect(filters.reduce(withFilter, [] as readonly Filter[])).toEqual([{ name: "from", user: "1" }, { name: "from", user: "2" }, { name: "in", conversation: "8" }]);
  const many = Array.from({ length: mostFrom + 1 }, (_, i): Filter => ({ name: "from", user: String(i) }));
  expect(many.reduce(withFilter, [] as readonly Filter[])).toHaveLength(mostFrom);
});

test("the query has the words and the filters, without the filter that is being typed", () => {
  for (const empty of [" ", "\"", "!?", "👋"]) expect(queryOf(typed(empty)), empty).toBeUndefined();
  expect(queryOf(typed("👋", { name: "has", what: "link" }))).toMatchObject({ text: "", typing: false, hasLink: true });
  expect(queryOf(typed("from:bo"), typedFilter("from:bo", 7))).toBeUndefined();
  expect(queryOf(typed("lake from:bo"), typedFilter("lake from:bo", 12))).toEqual({ text: "lake", typing: false, kinds: [], from: [] });
  expect(queryOf(typed("lake bo"))).toMatchObject({ text: "lake bo", typing: true });
  expect(queryOf(typed("lake "))).toMatchObject({ text: "lake", typing: false });
  expect(queryOf(typed("湖 来自：@bob "))).toMatchObject({ text: "湖 from:@bob" }); // the server finds whose handle it is
  const all = typed("添加", { name: "from", user: "5" }, { name: "in", conversation: "7" }, { name: "kind", kind: "message" }, { name: "kind", kind: "post" }, { name: "after", day: "2026-01-31" }, { name: "before", day: "2026-02-01" }, { name: "has", what: "link" });
  expect(queryOf(all)).toEqual({ text: "添加", typing: true, kinds: [HitKind.MESSAGE, HitKind.POST], from: ["5"], conversation: "7", afterMs: new Date(2026, 0, 31).getTime(), beforeMs: new Date(2026, 1, 1).getTime(), hasLink: true });
});

test("types of files are filters, of which there may be several", () => {
  expect(takeFilters(typed("lake type:image 文件类型：document x"), plainFilter)).toEqual(typed("lake x", { name: "type", type: "document" }, { name: "type", type: "image" }));
  expect(plainFilter("type", "spoon")).toBeUndefined();
  expect(queryOf(typed("lake", { name: "type", type: "image" }, { name: "type", type: "other" }))).toMatchObject({ text: "lake", fileTypes: [FileType.IMAGE, FileType.OTHER] });
});

test.each([
  ["2026-1-3", "2026-01-03"],
  ["2026/12/31", "2026-12-31"],
  ["2024年2月29日", "2024-02-29"],
  ["2026-02-29", undefined],
  ["2026-13-01", undefined],
  ["1969-12-31", undefined],
  ["26-01-01", undefined],
  ["", undefined],
])("the day %s", (text, want) => {
  expect(parseDay(text)).toBe(want);
  if (want) expect(dayMs(want)).toBe(new Date(`${want}T00:00`).getTime());
});

const marks = (text: string, ...ranges: [number, number][]) => markedParts(text, ranges.map(([start, length]) => ({ start, length }))).map((p) => (p.marked ? `[${p.text}]` : p.text)).join("|");

test("highlights count characters, and wrong ones do no harm", () => {
  expect(marks("已添加为好友", [1, 2])).toBe("已|[添加]|为好友");
  expect(marks("👋🏽 lake 👋 boat", [3, 4], [10, 4])).toBe("👋🏽 |[lake]| 👋 |[boat]"); // a skin tone is a character of its own
  expect(marks("<b>x</b>", [0, 3])).toBe("[<b>]|x</b>");
  expect(marks("lake", [2, 99], [1, 1], [50, 2])).toBe("la|[ke]");
  expect(marks("lake")).toBe("lake");
  expect(marks("")).toBe("");
});

test("the search opens by Ctrl K, and by ⌘ K where keyboards have it", () => {
  const key = (change: object) => ({ key: "k", ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...change });
  expect([isShortcut(key({ ctrlKey: true }), false), isShortcut(key({ metaKey: true, key: "K" }), true)]).toEqual([true, true]);
  expect([isShortcut(key({ ctrlKey: true }), true), isShortcut(key({ metaKey: true }), false), isShortcut(key({ ctrlKey: true, shiftKey: true }), false), isShortcut(key({ ctrlKey: true, key: "j" }), false)]).toEqual([false, false, false, false]);
});
