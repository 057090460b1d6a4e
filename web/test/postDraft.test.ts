import { Audience, type Post } from "@rialto-im/client";
import { expect, test } from "vitest";
import { contentOf, draftOf, isComplete, isSame, newDraft, PostDrafts, type PostDraft } from "../src/postDraft.js";

const image = { upload: "18446744073709551615", name: "a.png", mimeType: "image/png", size: 5_000_000_000, width: 3, height: 2 };

function setUp(me = () => "7") {
  const map = new Map<string, string>();
  const storage = { get length() { return map.size; }, key: (i: number) => [...map.keys()][i] ?? null, getItem: (k: string) => map.get(k) ?? null, setItem: (k: string, v: string) => void map.set(k, v), removeItem: (k: string) => void map.delete(k) };
  return { map, storage, drafts: new PostDrafts(storage, me) };
}

test("a draft survives the page, with what was sent of it", () => {
  const { drafts, map } = setUp();
  const draft: PostDraft = { ...newDraft(), title: "Lake", text: "Hi", images: [image], audience: Audience.CHOSEN, users: ["9"] };
  const tried = { ...contentOf(draft, "0"), linkPreview: { url: "https://example.com", signature: Uint8Array.of(1, 255) } };
  drafts.store("new", { ...draft, tried });
  drafts.store("repost/5", newDraft());
  expect(drafts.load("new")).toEqual({ ...draft, tried }); // whole numbers and bytes as they were
  expect(drafts.load("new")?.key).toBe(draft.key); // a retry is no second post
  drafts.discard("new");
  expect([drafts.load("new"), map.size]).toEqual([undefined, 1]);
});

test("a draft is its author's, and one that cannot be read is none", () => {
  let me = "7";
  const { drafts, map } = setUp(() => me);
  drafts.store("new", newDraft());
  me = "8";
  expect(drafts.load("new")).toBeUndefined();
  for (const broken of ["{", "null", "7", '{"images":1}']) {
    map.set("draft-post/8/new", broken);
    expect(drafts.load("new"), broken).toBeUndefined();
  }
});

test("a full storage is no reason to lose what is being written", () => {
  const { storage } = setUp();
  const drafts = new PostDrafts({ ...storage, setItem: () => { throw new Error("full"); } }, () => "7");
  expect(() => drafts.store("new", newDraft())).not.toThrow();
});

test("what is sent: without blanks at the ends, and people only where the audience names them", () => {
  const draft = { ...newDraft(), title: " T ", text: " a\n b \n", link: " https://example.com ", users: ["9"], images: [image] };
  expect(contentOf(draft, "5")).toEqual({ title: "T", text: "a\n b", mentions: [], link: "https://example.com", images: [{ ...image, size: 5_000_000_000n }], goods: [], audience: Audience.EVERYONE, users: [], repostOf: "5" });
  expect(contentOf({ ...draft, audience: Audience.EXCEPT }, "0").users).toEqual(["9"]);
});

test("a post has some content, and its audience somebody", () => {
  const empty = newDraft();
  expect([isComplete(empty, "0"), isComplete({ ...empty, text: "  " }, "0"), isComplete(empty, "5"), isComplete({ ...empty, images: [image] }, "0")]).toEqual([false, false, true, true]);
  expect([isComplete({ ...empty, text: "x", audience: Audience.CHOSEN }, "0"), isComplete({ ...empty, text: "x", audience: Audience.CHOSEN, users: ["9"] }, "0")]).toEqual([false, true]);
});

test("an edit begins with the post", () => {
  const content = { title: "T", text: "x", link: "", images: [{ ...image, size: 5n }], goods: [], audience: Audience.FRIENDS, users: [], repostOf: "0" };
  expect(draftOf({ content } as unknown as Post)).toMatchObject({ title: "T", text: "x", images: [{ upload: image.upload, size: 5 }], audience: Audience.FRIENDS });
});

const lamp = { name: " Lamp ", price: "12.90", currency: "EUR", link: " https://example.com/lamp ", picture: image };

test("a post may have a cover and goods, which an edit begins with", () => {
  const draft: PostDraft = { ...newDraft(), cover: image, goods: [lamp, { name: "Tea", price: "0", currency: "JPY", link: "https://example.com/tea" }] };
  const stored = { ...image, size: 5_000_000_000n };
  const content = contentOf(draft, "0");
  expect([content.cover, content.goods]).toEqual([stored, [{ name: "Lamp", priceMinor: 1290n, currency: "EUR", link: "https://example.com/lamp", picture: stored }, { name: "Tea", priceMinor: 0n, currency: "JPY", link: "https://example.com/tea" }]]);
  const again = draftOf({ content: { ...content, text: "", users: [] } } as unknown as Post);
  expect(contentOf(again, "0")).toEqual({ ...content, text: "" });
});

test("goods that lack something are not published", () => {
  const complete = (g: object) => isComplete({ ...newDraft(), goods: [{ ...lamp, ...g }] }, "0");
  expect(complete({})).toBe(true);
  for (const g of [{ name: " " }, { price: "" }, { price: "1.234" }, { link: "" }, { link: "http://example.com" }, { link: "https://" }]) expect(complete(g), JSON.stringify(g)).toBe(false);
  expect(isComplete({ ...newDraft(), text: "x", goods: [{ ...lamp, price: "" }] }, "0")).toBe(false);
});

test("a draft of an earlier version of the app has no goods", () => {
  const { drafts, map } = setUp();
  const { goods: _, ...old } = newDraft();
  map.set("draft-post/7/new", JSON.stringify(old));
  expect(drafts.load("new")?.goods).toEqual([]);
});

test("a preview that was made again makes no other post", () => {
  const content = contentOf({ ...newDraft(), text: "x" }, "0");
  const withPreview = (url: string, title: string) => ({ ...content, linkPreview: { url, title } });
  expect(isSame(withPreview("a", "one"), withPreview("a", "two"))).toBe(true);
  expect([isSame(withPreview("a", "one"), content), isSame(content, { ...content, text: "y" })]).toEqual([false, false]);
});

test("names that were chosen are mentions of the text as it is sent, also after a reload and in an edit", () => {
  const map = new Map<string, string>();
  const drafts = new PostDrafts({ get length() { return map.size; }, key: () => null, getItem: (k) => map.get(k) ?? null, setItem: (k, v) => void map.set(k, v), removeItem: (k) => void map.delete(k) }, () => "7");
  drafts.store("new", { ...newDraft(), text: "  😀 @Ann and @Bob", names: [{ name: "@Ann", mentioned: { user: "5" } }, { name: "@Gone", mentioned: { user: "6" } }] });
  const content = contentOf(drafts.load("new")!, "0");
  expect(content.mentions).toEqual([{ start: 2, length: 4, user: "5" }]);
  const stored = { ...content, mentions: content.mentions!.map((m) => ({ role: 0, everybody: false, users: [], ...m })) };
  const edited = { ...draftOf({ content: stored } as unknown as Post), text: "now @Ann" };
  expect(contentOf(edited, "0").mentions).toEqual([{ start: 4, length: 4, user: "5" }]);
});
