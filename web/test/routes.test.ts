import { expect, test } from "vitest";
import { feedLists, inside, parentOf, path, placeOf, sections, type Place } from "../src/routes.js";

const id = "18446744073709551615";

test.each<[string, Place, string]>([
  [path.chats, { area: "chats" }, "/"],
  [path.chat(id), { area: "chats", chat: id }, "/"],
  [path.info(id), { area: "chats", chat: id, info: true }, path.chat(id)],
  [path.message(id, 42), { area: "chats", chat: id, seq: 42 }, path.chat(id)],
  [path.join("a/b+c="), { area: "chats", invitation: { token: "a/b+c=" } }, "/"],
  [path.group("7"), { area: "chats", invitation: { conversation: "7" } }, "/"],
  [path.feed, { area: "feed" }, "/feed"],
  [path.post(id), { area: "feed", post: id }, "/feed"],
  ...feedLists.map((list): [string, Place, string] => [path.feedList(list), { area: "feed", list }, "/feed"]),
  [path.posts("bob.1"), { area: "feed", user: "bob.1" }, "/feed"],
  [path.people, { area: "people" }, "/people"],
  [path.user("bob.1"), { area: "people", user: "bob.1" }, "/people"],
  [path.desk(id), { area: "people", desk: id }, "/people"],
  ["/c/news.today", { area: "chats", channel: "news.today" }, "/"],
  ["/c/@News", { area: "chats", channel: "news" }, "/"],
  [path.search, { area: "search" }, "/"],
  [path.settings, { area: "settings" }, "/settings"],
  ...sections.map((s): [string, Place, string] => [path.section(s), { area: "settings", section: s }, "/settings"]),
])("%s", (address, place, parent) => {
  expect(placeOf(address)).toEqual(place);
  expect(parentOf(place)).toBe(parent);
});

test.each(["/c", "/c/", "/c/x", "/c/1/m/0", "/c/1/m/-1", "/c/1/m/1e9", "/c/1/other", "/c/184467440737095516150", "/g/x", "/join", "/u", "/settings/other", "/desk/support", "/feed/x", "/feed/u", "/nothing"])("%s is no place of the app", (address) => {
  expect(placeOf(address)).toEqual({ area: "none" });
});

test("an address that is wrongly escaped does no harm", () => {
  expect(placeOf("/u/%E0%A4%A")).toEqual({ area: "people", user: "%E0%A4%A" });
});

test("what an old link names stays one segment of the address", () => {
  expect(path.group("/../..//evil.example")).toBe("/g/%2F..%2F..%2F%2Fevil.example");
  expect(placeOf(path.group("../settings/password"))).toEqual({ area: "none" });
});

test("a link to a page of the app is opened in place, every other one is not", () => {
  const origin = "https://chat.example";
  expect(inside(`${origin}/feed/50`, origin)).toBe("/feed/50");
  expect(inside(`${origin}/u/bob`, origin)).toBe("/u/bob");
  for (const other of ["https://chat.example.org/feed/50", "http://chat.example/feed/50", `${origin}/nothing`, `${origin}/feed/50?x=1`, `${origin}/feed/50#x`, "/feed/50", "mailto:a@example.com", "javascript:alert(1)", ""]) {
    expect(inside(other, origin), other).toBeUndefined();
  }
});
