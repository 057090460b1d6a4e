import { expect, test } from "vitest";
import { distinctions } from "../src/equalTitles.js";

test("chats with equal titles are told apart by their members, or else by their ids", () => {
  const chat = (id: string, title: string, memberCount: number) => ({ id, title, memberCount });
  const told = distinctions([chat("1", "tea", 3), chat("61234", "tea", 1), chat("71234", "tea", 1), chat("81235", "tea", 1), chat("5", "Tea", 1)], (n) => `${n} members`);
  expect(Object.fromEntries(told)).toEqual({ 1: "3 members", 61234: "1 members · …61234", 71234: "1 members · …71234", 81235: "1 members · …81235" });
  expect(distinctions([chat("1", "tea", 3), chat("2", "coffee", 3)], String).size).toBe(0);
});
