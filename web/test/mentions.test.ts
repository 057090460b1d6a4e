import { expect, test } from "vitest";
import { ChosenNames } from "../src/mentions.js";
import type { KeyValueStorage } from "../src/storage.js";

function storageOf(map: Map<string, string>): KeyValueStorage {
  return { get length() { return map.size; }, key: (i) => [...map.keys()][i] ?? null, getItem: (k) => map.get(k) ?? null, setItem: (k, v) => void map.set(k, v), removeItem: (k) => void map.delete(k) };
}
const mentioned = (names: ChosenNames, text: string) => names.mentionsIn(text).map((m) => [m.start, m.length, m.user]);

test("names that were chosen in a draft are known after a reload, until it is sent", () => {
  const map = new Map<string, string>();
  new ChosenNames("names/7", storageOf(map)).choose("Ann", "ann", { user: "5" });
  const reloaded = new ChosenNames("names/7", storageOf(map));
  expect(mentioned(reloaded, "hi @Ann")).toEqual([[3, 4, "5"]]);
  expect(mentioned(new ChosenNames("names/8", storageOf(map)), "hi @Ann")).toEqual([]);
  reloaded.forget();
  expect(map.size).toBe(0);
  expect(mentioned(reloaded, "hi @Ann")).toEqual([]);
});

test.each(["{", "5", "null", '[{"name":1}]', '[{"name":"@Ann"}]', '["@Ann"]'])("stored %s has no names", (stored) => {
  const names = new ChosenNames("names/7", storageOf(new Map([["names/7", stored]])));
  expect(mentioned(names, "hi @Ann")).toEqual([]);
});
