import { HitKind, type HitGroup } from "@rialto-im/client";
import { expect, test } from "vitest";
import { countOf, hitPath, sectionsOf, type Shown } from "../src/search/options.js";
import { translate } from "../src/i18n.js";
import { typedFilter, type Typed } from "../src/search/filters.js";
import { RecentSearches } from "../src/search/recent.js";

type Hit = HitGroup["hits"][number];
const t = (key: Parameters<typeof translate>[1]) => translate("en", key);
const hit = (of: object) => of as Hit;
const group = (kind: HitKind, hits: Hit[], next = "") => ({ kind, hits, next }) as HitGroup;
const user = hit({ text: "Bob @bob", user: { id: "22" } });
const message = hit({ text: "lake", message: { conversation: "7", seq: 42n } });
const post = hit({ text: "lake", post: { id: "900" } });
const file = hit({ text: "lake.pdf", message: { conversation: "7", seq: 42n }, file: { type: 4 } });
const video = hit({ text: "lake", post: { id: "900" }, video: { id: "3" } });

const shown = (change: Partial<Shown>): Shown => ({ typing: undefined, completions: [], recent: [], searches: true, search: { groups: [], loadingMore: undefined }, ...change });

test("hits are in groups, with what leads to more; kinds that are newer than the app are passed over", () => {
  const groups = [group(HitKind.MESSAGE, [message], "p1"), group(HitKind.USER, [user]), group(99 as HitKind, [post]), group(HitKind.POST, [])];
  const sections = sectionsOf(shown({ search: { groups, loadingMore: HitKind.MESSAGE } }), t);
  expect(sections.map((s) => [s.title, s.options.map((o) => o.key)])).toEqual([["Messages", ["message/7/42", "more/3"]], ["People", ["user/22"]]]);
  expect(sections[0]!.options[1]).toMatchObject({ kind: "more", of: HitKind.MESSAGE, loading: true });
  expect(countOf(groups)).toEqual({ n: 2, more: true });
  expect(sectionsOf(shown({ search: { groups: [group(HitKind.POST, [], "p1")], loadingMore: undefined } }), t)[0]!.options.map((o) => o.key)).toEqual(["more/4"]); // there may be some
  expect(countOf([groups[1]!])).toEqual({ n: 1, more: false });
});

test("a message that is found as a file, and a post as a video, is shown once", () => {
  const other = hit({ text: "lake", message: { conversation: "8", seq: 42n } });
  const groups = [group(HitKind.MESSAGE, [message, other]), group(HitKind.POST, [post]), group(HitKind.VIDEO, [video]), group(HitKind.FILE, [file], "p1")];
  const sections = sectionsOf(shown({ search: { groups, loadingMore: undefined } }), t);
  expect(sections.map((s) => [s.title, s.options.map((o) => o.key)])).toEqual([["Messages", ["message/8/42"]], ["Videos", ["video/900"]], ["Files", ["file/7/42", "more/6"]]]);
  expect(countOf(groups)).toEqual({ n: 3, more: true });
});

test("values for a filter take the place of hits, and the last searches that of nothing", () => {
  const recent: Typed[] = [{ text: "lake", filters: [] }];
  const groups = [group(HitKind.USER, [user])];
  const typing = typedFilter("kind:", 5);
  const completions = [{ key: "post", label: "Posts", detail: "kind:post", filter: { name: "kind" as const, kind: "post" as const } }];
  expect(sectionsOf(shown({ typing, completions, recent, search: { groups, loadingMore: undefined } }), t).map((s) => s.key)).toEqual(["completions"]);
  expect(sectionsOf(shown({ typing, recent, search: { groups, loadingMore: undefined } }), t)).toEqual([]);
  expect(sectionsOf(shown({ searches: false, recent, search: { groups, loadingMore: undefined } }), t).map((s) => s.title)).toEqual(["Recent searches"]);
});

test("a hit leads to where it is: a person to the chat with them, where there is one", () => {
  const client = { me: "11", conversations: () => [{ id: "5", peer: "22" }, { id: "6", peer: "11" }] } as unknown as Parameters<typeof hitPath>[1];
  expect([user, hit({ user: { id: "33" } }), hit({ user: { id: "11" } }), hit({ conversation: { id: "7" } }), message, post, file, video].map((h) => hitPath(h, client))).toEqual(["/c/5", "/u/33", "/u/11", "/c/7", "/c/7/m/42", "/feed/900", "/c/7/m/42", "/feed/900"]);
});

function setUp() {
  const map = new Map<string, string>();
  const storage = { get length() { return map.size; }, key: (i: number) => [...map.keys()][i] ?? null, getItem: (k: string) => map.get(k) ?? null, setItem: (k: string, v: string) => void map.set(k, v), removeItem: (k: string) => void map.delete(k) };
  const of = { me: "7" };
  return { map, storage, of, recent: new RecentSearches(storage, () => of.me) };
}

test("the last searches are kept, each once, the newest first", () => {
  const { recent, of } = setUp();
  for (let i = 0; i < 10; i++) recent.add({ text: `q${i} `, filters: [] });
  recent.add({ text: "q5", filters: [] });
  recent.add({ text: " ", filters: [] });
  expect(recent.list().map((s) => s.text)).toEqual(["q5", "q9", "q8", "q7", "q6", "q4", "q3", "q2"]);
  of.me = "8";
  expect(recent.list()).toEqual([]);
  of.me = "7";
  recent.clear();
  expect(recent.list()).toEqual([]);
});

test("what cannot be read is no search, and a full storage no error", () => {
  const { map, recent, storage } = setUp();
  for (const broken of ["{", "7", "null", '[{"text":1,"filters":[]}]', '[{"text":"x"}]', '[{"text":"x","filters":[{"name":"from"}]}]', '[{"text":"x","filters":[{"name":"after","day":"soon"}]}]', '[{"text":"x","filters":[null]}]']) {
    map.set("recent-searches/7", broken);
    expect(recent.list(), broken).toEqual([]);
  }
  const good: Typed = { text: "x", filters: [{ name: "from", user: "1" }, { name: "in", conversation: "2" }, { name: "kind", kind: "post" }, { name: "after", day: "2026-01-31" }, { name: "has", what: "link" }] };
  recent.add(good);
  expect(recent.list()).toEqual([good]);
  const full = new RecentSearches({ ...storage, setItem: () => { throw new Error("full"); } }, () => "7");
  expect(() => full.add(good)).not.toThrow();
});
