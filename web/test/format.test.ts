import { Control_Action, registerKind, Role, type Content, type Control } from "@rialto-im/client";
import { expect, test } from "vitest";
import { ago, bytes, controlText, day, excerpt, isEmoji, preview, someOf, until, when } from "../src/format.js";
import { translate, type Locale, type Translate } from "../src/i18n.js";

const t: Translate = (key, values) => translate("en", key, values);
const zh: Translate = (key, values) => translate("zh", key, values);
const at = (...parts: [number, number, number, number?, number?, number?]) => new Date(...parts).getTime();
const now = at(2026, 10, 21, 12, 0);

test("days have names where they are near", () => {
  expect(day(at(2026, 10, 21, 1), "en", now)).toBe("Today");
  expect(day(at(2026, 10, 20, 23, 59), "en", now)).toBe("Yesterday");
  expect(day(at(2026, 10, 19), "en", now)).toMatch(/Thu.*November.*19|Thu.*19.*November/);
  expect(day(at(2025, 0, 3), "en", now)).toContain("2025");
  expect(day(at(2026, 10, 21, 1), "zh", now)).toBe("今天");
  expect(day(at(2026, 10, 20, 23, 59), "zh", now)).toBe("昨天");
  expect(day(at(2026, 10, 19), "zh", now)).toBe("11月19日周四");
});

test("in a list, a time is as short as it can be", () => {
  expect(when(at(2026, 10, 21, 9, 5), "en", now)).toMatch(/^0?9:05/);
  expect(when(at(2026, 10, 20, 9), "en", now)).toBe("Yesterday");
  expect(when(at(2026, 10, 15, 9), "en", now)).toBe("Sun");
  expect(when(at(2026, 10, 14, 9), "en", now)).toMatch(/^(Nov 14|14 Nov)$/);
  expect(when(at(2024, 10, 14, 9), "en", now)).toContain("2024");
  expect(when(at(2026, 10, 15, 9), "zh", now)).toBe("周日");
  expect(when(at(2026, 10, 14, 9), "zh", now)).toBe("11月14日");
});

test("how long ago something was is said in the words of the language", () => {
  const said = (ms: number): [string, string] => [ago(ms, "en", t, now), ago(ms, "zh", zh, now)];
  expect(said(now + 5_000)).toEqual(["just now", "刚刚"]); // the server's clock is ahead
  expect(said(now - 59_000)).toEqual(["just now", "刚刚"]);
  expect(said(now - 60_000)).toEqual(["1 minute ago", "1分钟前"]);
  expect(said(now - 119 * 60_000)).toEqual(["1 hour ago", "1小时前"]);
  expect(said(at(2026, 10, 21, 0, 0))).toEqual(["12 hours ago", "12小时前"]);
  expect(said(at(2026, 10, 20, 23, 0))).toEqual(["yesterday", "昨天"]);
  expect(said(at(2026, 10, 18, 23, 0))).toEqual(["3 days ago", "3天前"]);
  expect(said(at(2026, 10, 14, 23, 0))).toEqual([expect.stringMatching(/^(Nov 14|14 Nov)$/), "11月14日"]);
  expect(ago(at(2026, 10, 21, 23, 50), "en", t, at(2026, 10, 22, 0, 10))).toBe("20 minutes ago"); // midnight between
});

test("a time to come is that of the clock today, and has its date later", () => {
  expect(until(at(2026, 10, 21, 13, 30), "en", now)).toMatch(/^(0?1:30|13:30)/);
  expect(until(at(2026, 10, 23, 13, 30), "en", now)).toMatch(/23.*2026/);
  expect(until(at(2026, 10, 23, 13, 30), "zh", now)).toContain("2026年11月23日");
});

test("names are listed as the language does, and of many only a few", () => {
  const listed = (l: Locale, names: string[]) => translate(l, "joined", { users: someOf(names, l === "en" ? t : zh) });
  expect(listed("en", ["Ann"])).toBe("Ann joined");
  expect(listed("en", ["Ann", "Bob"])).toBe("Ann and Bob joined");
  expect(listed("en", ["Ann", "Bob", "Cem"])).toMatch(/^Ann, Bob,? and Cem joined$/);
  expect(listed("en", ["Ann", "Bob", "Cem", "Dan"])).toMatch(/^Ann, Bob,? and 2 others joined$/);
  expect(listed("zh", ["小明", "小红"])).toBe("小明和小红加入了群聊");
  expect(listed("zh", ["小明", "小红", "小刚"])).toBe("小明、小红和小刚加入了群聊");
  expect(listed("zh", ["小明", "小红", "小刚", "小李"])).toBe("小明、小红和其他 2 人加入了群聊");
  expect(t("typing", { who: ["Ann"], n: 1 })).toBe("Ann is typing…");
  expect(t("typing", { who: ["Ann", "Bob"], n: 2 })).toBe("Ann and Bob are typing…");
});

test("sizes are short", () => {
  expect(bytes(999, "en")).toBe("999 B");
  expect(bytes(1_540_000, "en")).toBe("1.5 MB");
  expect(bytes(25_400_000, "zh")).toBe("25 MB");
});

test("changes of a group are told in whole sentences, also to those whom they touch", () => {
  const control = (part: Partial<Control>) => ({ $typeName: "rialto.chat.v1.Control", action: 0, actor: "1", users: [], text: "", role: 0, untilMs: 0n, retentionDays: 0, retentionSeconds: 0, ...part }) as Control;
  const said = (part: Partial<Control>) => controlText(control(part), (u) => ({ "1": "Alice", "2": "You", "3": "Bob" })[u] ?? "?", t);
  expect(said({ action: Control_Action.ROLE, users: ["2"], role: Role.ADMIN })).toBe("Alice made you an admin");
  expect(said({ action: Control_Action.ROLE, users: ["3"], role: Role.MEMBER })).toBe("Alice made Bob a member again");
  expect(said({ action: Control_Action.JOINED, users: ["2", "3"] })).toBe("You and Bob joined");
  expect(said({ action: Control_Action.JOINED, users: ["3", "2"] })).toBe("Bob and you joined");
  expect(said({ action: Control_Action.JOINED, users: Array(500).fill("3") })).toMatch(/^(Bob, ){6}Bob,? and 493 others joined$/);
  expect(said({ action: Control_Action.MUTED, untilMs: 1n })).toBe("Alice allowed only admins to write");
  expect(said({ action: Control_Action.MUTED, users: ["2"], untilMs: 0n })).toBe("Alice unmuted you");
  expect(said({ action: Control_Action.RETENTION, retentionDays: 7 })).toBe("Alice set messages to disappear after 7 days");
  expect(said({ action: Control_Action.RETENTION, retentionSeconds: 3_600 })).toBe("Alice set messages to disappear after 1 hour");
  expect(said({ action: Control_Action.RETENTION })).toContain("to the server's default");
  expect(said({ action: Control_Action.TRANSFERRED, users: ["2"] })).toBe("The owner is now you");
});

test("a channel says in a list what it is", () => {
  const content = { kind: { case: "control", value: { action: Control_Action.CREATED, actor: "1", users: [], text: "News" } } } as unknown as Content;
  expect(preview({ content }, () => "Alice", t)).toBe("Alice created the group “News”");
  expect(preview({ content }, () => "Alice", t, { channel: true, ticket: false })).toContain("channel");
});

test("a few emoji alone are shown large", () => {
  for (const text of ["👍", "👋🏽", "❤️", "👩‍👩‍👧‍👦🇨🇳🎉"]) expect(isEmoji(text), text).toBe(true);
  for (const text of ["", "12", "👍 ", "ok👍", "👍👍👍👍"]) expect(isEmoji(text), text).toBe(false);
});

test("a long text is named by its beginning, of whole characters", () => {
  expect(excerpt("x".repeat(10_000))).toBe(`${"x".repeat(79)}…`);
  expect(excerpt("👩‍👩‍👧".repeat(81))).toBe(`${"👩‍👩‍👧".repeat(79)}…`);
  expect(excerpt("At the lake")).toBe("At the lake");
});

test("a custom kind shows what its registered kind says, else its fallback, else that it cannot be shown", () => {
  const shown = (type: string, data: unknown, fallback: string) => preview({ content: { kind: { case: "custom", value: { type, data: new TextEncoder().encode(JSON.stringify(data)), fallback } } } as Content }, () => "Alice", t);
  registerKind("app.example/vote", { decode: (data) => (data as { question: string }).question.trim(), text: (question) => `Vote: ${question}` });
  expect(shown("app.example/vote", { question: " lunch? " }, "A vote")).toBe("Vote: lunch?");
  expect(shown("app.example/vote", {}, "A vote")).toBe("A vote");
  expect(shown("app.example/unknown", { question: "lunch?" }, "A vote")).toBe("A vote");
  expect(shown("app.example/unknown", {}, "")).toBe("A message that this app cannot show");
});
