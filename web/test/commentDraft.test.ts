import { expect, test } from "vitest";
import { commentOf, CommentDrafts, emptyDraft, isWritten } from "../src/commentDraft.js";
import { Drafts } from "../src/drafts.js";

const image = { upload: "18446744073709551615", name: "a.png", mimeType: "image/png", size: 5_000_000_000, width: 3, height: 2 };
const replyTo = { id: "60", top: "0", author: "8" };

function setUp(me = () => "7") {
  const map = new Map<string, string>();
  const storage = { get length() { return map.size; }, key: (i: number) => [...map.keys()][i] ?? null, getItem: (k: string) => map.get(k) ?? null, setItem: (k: string, v: string) => void map.set(k, v), removeItem: (k: string) => void map.delete(k) };
  return { map, storage, drafts: new CommentDrafts(storage, me) };
}

test("what is written survives the page, below its post alone", () => {
  const { drafts, map } = setUp();
  drafts.store("50", { text: "Hi", image });
  expect([drafts.load("50"), drafts.load("5")]).toEqual([{ text: "Hi", image }, emptyDraft]);
  drafts.store("50", { text: "  " });
  expect(map.size).toBe(0);
});

test("what was sent survives the page until the server has it, whatever is written meanwhile", () => {
  const { drafts } = setUp();
  drafts.storeSent("50", { key: "a", text: "one" });
  drafts.storeSent("50", { key: "b", text: "two", replyTo });
  drafts.storeSent("5", { key: "c", text: "elsewhere" });
  drafts.store("50", { text: "three" });
  expect(drafts.sent("50")).toEqual([{ key: "a", text: "one" }, { key: "b", text: "two", replyTo }]);
  drafts.forgetSent("50", "a");
  expect(drafts.sent("50").map((s) => s.key)).toEqual(["b"]);
});

test("drafts are their author's, go at sign-out, and one that cannot be read is none", async () => {
  let me = "7";
  const { drafts, storage, map } = setUp(() => me);
  drafts.store("50", { text: "Hi" });
  drafts.storeSent("50", { key: "a", text: "one" });
  me = "8";
  expect([drafts.load("50"), drafts.sent("50")]).toEqual([emptyDraft, []]);
  for (const broken of ["{", "null", "7", '{"text":1}']) {
    map.set("draft-comment/8/50", broken);
    map.set("sent-comment/8/50/a", broken);
    expect([drafts.load("50"), drafts.sent("50")], broken).toEqual([emptyDraft, []]);
  }
  new Drafts({ me: "7", configure: async () => {}, pending: () => false }, storage).clear();
  expect(map.size).toBe(0);
});

test("a full storage is no reason to lose what is being written", () => {
  const { storage } = setUp();
  const drafts = new CommentDrafts({ ...storage, setItem: () => { throw new Error("full"); } }, () => "7");
  expect(() => drafts.store("50", { text: "x" })).not.toThrow();
});

test("what is sent: without blanks at the ends, with its image", () => {
  expect(commentOf({ text: " a\n b " })).toEqual({ text: "a\n b", mentions: [] });
  expect(commentOf({ text: "", image })).toEqual({ text: "", mentions: [], image: { ...image, size: 5_000_000_000n } });
  expect([isWritten({ text: " " }), isWritten({ text: "x" }), isWritten({ text: "", image })]).toEqual([false, true, true]);
});

test("names that were chosen in a comment are its mentions, at most 50", () => {
  const names = [{ name: "@Ann", mentioned: { user: "5" } }];
  expect(commentOf({ text: " hi @Ann", names }).mentions).toEqual([{ start: 3, length: 4, user: "5" }]);
  expect(commentOf({ text: "@Ann ".repeat(51), names }).mentions).toHaveLength(50);
});
