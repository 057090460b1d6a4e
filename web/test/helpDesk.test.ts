import { Control_Action, TicketStatus, type ChatMessage, type Control, type HelpDesk } from "@rialto-im/client";
import { expect, test } from "vitest";
import { deskState, hoursRows } from "../src/businessHours.js";
import { badgeOf } from "../src/deskWork.js";
import { comes, preview, roughly } from "../src/format.js";
import { translate, type Locale, type Translate } from "../src/i18n.js";
import { ticketStatusBefore } from "../src/messageRows.js";
import { ticketLine, ticketText } from "../src/ticketText.js";

const t: Translate = (key, values) => translate("en", key, values);
const zh: Translate = (key, values) => translate("zh", key, values);
const at = (...parts: [number, number, number, number?, number?]) => new Date(...parts).getTime();
const now = at(2026, 10, 20, 12, 0); // a Friday
const { WAITING, ACTIVE, RESOLVED } = TicketStatus;

const desk = (fields: Partial<HelpDesk>) => ({ isOpen: false, closed: false, opensAtMs: 0n, hours: [], ...fields }) as unknown as HelpDesk;
const control = (fields: Partial<Control>) => ({ action: Control_Action.TICKET, actor: "0", users: [], text: "", ticketStatus: 0, ...fields }) as unknown as Control;
const name = (u: string) => ({ "1": "You", "2": "Ann", "3": "Bob" })[u] ?? "?";

test("a closed desk says when it opens", () => {
  const said = (d: HelpDesk, l: Locale = "en") => deskState(d, l, l === "en" ? t : zh, now);
  const monday = BigInt(at(2026, 10, 23, 9));
  expect(said(desk({ isOpen: true }))).toBe("open");
  expect(said(desk({ opensAtMs: monday }))).toMatch(/^opens Monday.* 0?9:00/);
  expect(said(desk({ opensAtMs: monday }), "zh")).toMatch(/^星期一 ?09:00开始营业$/);
  expect(said(desk({ opensAtMs: BigInt(at(2026, 10, 20, 13)) }))).toMatch(/^opens (13|0?1):00/);
  expect(said(desk({ opensAtMs: BigInt(now) }))).toBe("open"); // it has opened since the list was read
  expect(said(desk({}))).toBe("closed");
  expect(said(desk({ isOpen: true, closed: true }))).toBe("takes no new tickets");
  expect(comes(at(2026, 11, 20, 9), "en", now)).toContain("2026");
});

test("days in a row with the same hours are one line", () => {
  const hours = (weekday: number, from: number, to: number) => ({ weekday, fromMinute: from * 60, toMinute: to * 60 }) as never;
  const rows = hoursRows([...[1, 2, 3, 5].map((d) => hours(d, 9, 17)), hours(7, 14, 16), hours(7, 10, 12)], "zh", zh);
  expect(rows).toEqual([
    { days: "周一至周三", hours: "09:00–17:00" },
    { days: "周五", hours: "09:00–17:00" },
    { days: "周日", hours: "10:00–12:00, 14:00–16:00" },
  ]);
});

test("what happens to a ticket is told in sentences", () => {
  const said = (fields: Partial<Control>) => ticketText(control(fields), name, t);
  expect(said({ action: Control_Action.CREATED, users: ["1"], text: "Support" })).toBe("You opened a ticket with “Support”");
  expect(said({ ticketStatus: WAITING })).toBe("The ticket waits for an agent");
  expect(said({ ticketStatus: WAITING, actor: "2" })).toBe("Ann put the ticket into the queue");
  expect(said({ ticketStatus: ACTIVE, actor: "2", users: ["2"] })).toBe("Ann took the ticket");
  expect(said({ ticketStatus: ACTIVE, users: ["1"] })).toBe("The ticket was assigned to you");
  expect(said({ ticketStatus: ACTIVE, actor: "2", users: ["3"] })).toBe("Ann transferred the ticket to Bob");
  expect(said({ ticketStatus: RESOLVED, actor: "2", users: ["2"] })).toBe("Ann resolved the ticket");
  expect(said({ ticketStatus: RESOLVED })).toBe("The ticket is resolved");
  expect(said({ action: Control_Action.RENAMED, text: "Billing" })).toBe("The ticket is with “Billing” now");
  expect(said({ action: Control_Action.ANNOUNCED, text: "hello" })).toBe("From the help desk: hello");
  expect(ticketText(control({ ticketStatus: ACTIVE, actor: "2", users: ["1"] }), (u) => (u === "1" ? "你" : "Ann"), zh)).toBe("Ann将工单转接给你");
});

test("a rating and a reopening are told from the status before, and what was said is not said again", () => {
  const entry = (fields: Partial<Control>) => ({ content: { kind: { case: "control", value: control(fields) } } }) as ChatMessage;
  const text = { content: { kind: { case: "text", value: "hi" } } } as ChatMessage;
  const log = [
    entry({ action: Control_Action.CREATED }), entry({ ticketStatus: ACTIVE, actor: "2", users: ["2"] }), entry({ action: Control_Action.JOINED, users: ["2"] }), text,
    entry({ ticketStatus: RESOLVED, actor: "2", users: ["2"] }), entry({ ticketStatus: RESOLVED, actor: "3", users: ["2"] }), entry({ ticketStatus: WAITING, actor: "3" }), entry({ action: Control_Action.REMOVED, users: ["2"] }),
  ];
  expect(log.map((_, i) => ticketStatusBefore(log, i))).toEqual([undefined, undefined, undefined, undefined, undefined, RESOLVED, RESOLVED, undefined]);
  const line = (i: number) => ticketLine(log[i]!.content.kind.value as Control, name, t, ticketStatusBefore(log, i));
  expect([2, 4, 5, 6, 7].map(line)).toEqual(["", "Ann resolved the ticket", "Bob rated the ticket", "Bob reopened the ticket", ""]);
  expect(preview(log[5]!, name, t, { channel: false, ticket: true })).toBe("The ticket is resolved"); // in a list, the entry before is not known
});

test("times until an answer are rounded", () => {
  expect([400, 59_000, 119_000, 5_400_000, 200_000_000].map((ms) => roughly(ms, t))).toEqual(["1 second", "59 seconds", "2 minutes", "2 hours", "2 days"]);
});

test("the badge of an agent's work says where it did not count to the end", () => {
  const work = (waiting: number, unread = 0, hasMore = false) => ({ desk: "1", waiting, unread, hasMore });
  expect(badgeOf([])).toEqual({ n: 0, text: "0" });
  expect(badgeOf([work(2, 1), work(4)], 1)).toEqual({ n: 8, text: "8" });
  expect(badgeOf([work(50, 0, true), work(1)]).text).toBe("51+");
  expect(badgeOf([work(50), work(50)]).text).toBe("99+");
});
