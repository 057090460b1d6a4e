import { expect, test } from "vitest";
import { Drafts } from "../src/drafts.js";

function setUp(me = "7") {
  const map = new Map<string, string>();
  const storage = { get length() { return map.size; }, key: (i: number) => [...map.keys()][i] ?? null, getItem: (k: string) => map.get(k) ?? null, setItem: (k: string, v: string) => void map.set(k, v), removeItem: (k: string) => void map.delete(k) };
  const told: string[] = [];
  let during = () => {};
  const state = { offline: false };
  const port = { me, configure: async (c: string, s: { draft: string }) => { told.push(`${c}=${s.draft}`); during(); }, pending: () => state.offline };
  return { map, told, state, drafts: new Drafts(port, storage), whileTelling: (f: () => void) => void (during = f) };
}

test("what was typed is held until the client has it", async () => {
  const { map, told, drafts } = setUp();
  drafts.store("1", "he");
  drafts.store("1", "hello");
  expect([...map.values()]).toEqual(["hello"]);
  await drafts.save("1", "hello");
  expect(told).toEqual(["1=hello"]);
  expect(map.size).toBe(0);
});

test("without a network it stays held, and is handed over again", async () => {
  const { map, told, state, drafts } = setUp();
  state.offline = true;
  drafts.store("1", "a");
  await drafts.save("1", "a");
  expect([...map.values()]).toEqual(["a"]);
  state.offline = false;
  await drafts.restore();
  expect(told).toEqual(["1=a", "1=a"]);
  expect(map.size).toBe(0);
});

test("what is typed while the client is told stays held", async () => {
  const { map, drafts, whileTelling } = setUp();
  drafts.store("1", "a");
  whileTelling(() => drafts.store("1", "ab"));
  await drafts.save("1", "a");
  expect([...map.values()]).toEqual(["ab"]);
});

test("what a closed page left is handed over, of this user only, also that a draft was cleared", async () => {
  const { map, told, drafts } = setUp();
  map.set("theme", "dark");
  map.set("draft/8/1", "of somebody else");
  drafts.store("1", "left");
  drafts.store("2", "");
  await drafts.restore();
  expect(told.sort()).toEqual(["1=left", "2="]);
  expect([...map.keys()]).toEqual(["theme", "draft/8/1"]);
});

test("a log-out forgets every draft, and nothing else", () => {
  const { map, drafts } = setUp();
  map.set("theme", "dark");
  drafts.store("1", "a");
  drafts.store("2", "b");
  map.set(drafts.namesKey("1"), "[]");
  map.set("draft-post/7/new", "{}");
  drafts.clear();
  expect([...map.keys()]).toEqual(["theme"]);
});
