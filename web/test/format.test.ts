import { Control_Action, Role, type Control } from "@rialto-im/client";
import { expect, test } from "vitest";
import { bytes, controlText, day, isEmoji, tag, when } from "../src/format.js";
import { translate, type Translate } from "../src/i18n.js";

const t: Translate = (key, values) => translate("en", key, values);
const now = new Date(2026, 10, 21, 12, 0).getTime();

test("days have names where they are near", () => {
  expect(day(new Date(2026, 10, 21, 1, 0).getTime(), "en", t, now)).toBe("Today");
  expect(day(new Date(2026, 10, 20, 23, 59).getTime(), "en", t, now)).toBe("Yesterday");
  expect(day(new Date(2025, 0, 3).getTime(), "en", t, now)).toContain("2025");
  expect(when(new Date(2026, 10, 20, 9, 0).getTime(), "en", t, now)).toBe("Yesterday");
});

test("sizes are short", () => {
  expect(bytes(999, "en")).toBe("999 B");
  expect(bytes(1_540_000, "en")).toBe("1.5 MB");
});

test("times have the form of one's own region", () => {
  expect(tag("en", ["de", "en-GB", "en-US"])).toBe("en-GB");
  expect(tag("zh", ["en-US", "zh-TW"])).toBe("zh-TW");
  expect(tag("zh", ["en-US"])).toBe("zh-CN");
});

test("changes of a group are told in whole sentences, also to those whom they touch", () => {
  const control = (part: Partial<Control>) => ({ $typeName: "rialto.chat.v1.Control", action: 0, actor: "1", users: [], text: "", role: 0, untilMs: 0n, retentionDays: 0, ...part }) as Control;
  const said = (part: Partial<Control>) => controlText(control(part), (u) => ({ "1": "Alice", "2": "You", "3": "Bob" })[u] ?? "?", t);
  expect(said({ action: Control_Action.ROLE, users: ["2"], role: Role.ADMIN })).toBe("Alice made you an admin");
  expect(said({ action: Control_Action.ROLE, users: ["3"], role: Role.MEMBER })).toBe("Alice made Bob a member again");
  expect(said({ action: Control_Action.JOINED, users: ["2", "3"] })).toBe("You, Bob joined");
  expect(said({ action: Control_Action.MUTED, untilMs: 1n })).toBe("Alice let only admins write");
  expect(said({ action: Control_Action.MUTED, users: ["2"], untilMs: 0n })).toBe("Alice let you write again");
  expect(said({ action: Control_Action.RETENTION, retentionDays: 7 })).toBe("Alice set messages to be kept for 7 days");
  expect(said({ action: Control_Action.RETENTION, retentionDays: 1 })).toBe("Alice set messages to be kept for 1 day");
  expect(said({ action: Control_Action.RETENTION })).toContain("as long as the server");
  expect(said({ action: Control_Action.TRANSFERRED, users: ["2"] })).toBe("The owner is now you");
});

test("a few emoji alone are shown large", () => {
  for (const text of ["👍", "👋🏽", "❤️", "👩‍👩‍👧‍👦🇨🇳🎉"]) expect(isEmoji(text), text).toBe(true);
  for (const text of ["", "12", "👍 ", "ok👍", "👍👍👍👍"]) expect(isEmoji(text), text).toBe(false);
});
