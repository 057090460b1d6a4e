import { Control_Action, Role, TicketStatus, fallbackText, lasting, retentionOf, type ChatMessage, type Control, type ConversationView, type CustomStatusView } from "@rialto-im/client";
import type { Locale, Translate } from "./i18n.js";
import { dates, numbers, relative } from "./intl.js";
import { withoutMarks } from "./markdown.js";
import { linkedParts } from "./mentions.js";
import { ticketText } from "./ticketText.js";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

export function clock(ms: number, l: Locale): string {
  return dates(l, "clock").format(ms);
}

/** A time in full. */
export function moment(ms: number, l: Locale): string {
  return dates(l, "full").format(ms);
}

function dayOf(ms: number): number {
  const d = new Date(ms);
  return new Date(d.getFullYear(), d.getMonth(), d.getDate()).getTime();
}

export function sameDay(a: number, b: number): boolean {
  return dayOf(a) === dayOf(b);
}

/** Days from one to the other, by the calendar. A day of 23 or 25 hours counts as one. */
function daysBetween(ms: number, now: number): number {
  return Math.round((dayOf(now) - dayOf(ms)) / dayMs);
}

function sameYear(a: number, b: number): boolean {
  return new Date(a).getFullYear() === new Date(b).getFullYear();
}

/** "Today" or "Yesterday", as a title. */
function nearDay(days: number, l: Locale): string {
  const word = relative(l, "auto").format(-days, "day");
  return word.charAt(0).toLocaleUpperCase(l) + word.slice(1);
}

/** A day as a heading: today, yesterday, or its date. */
export function day(ms: number, l: Locale, now = Date.now()): string {
  const days = daysBetween(ms, now);
  if (days === 0 || days === 1) return nearDay(days, l);
  return dates(l, sameYear(ms, now) ? "heading" : "headingOfYear").format(ms);
}

/** A time as short as it can be said in a list: of today the clock, of the last week the day, else the date. */
export function when(ms: number, l: Locale, now = Date.now()): string {
  const days = daysBetween(ms, now);
  if (days <= 0) return clock(ms, l);
  if (days === 1) return nearDay(days, l);
  if (days < 7) return dates(l, "weekday").format(ms);
  return dates(l, sameYear(ms, now) ? "day" : "dayOfYear").format(ms);
}

/** How long ago something was, within a sentence; its date where that is more than a week. */
export function ago(ms: number, l: Locale, t: Translate, now = Date.now()): string {
  const past = now - ms;
  if (past < minuteMs) return t("justNow"); // also where the two clocks differ a little
  if (past < hourMs) return relative(l, "auto").format(-Math.floor(past / minuteMs), "minute");
  const days = daysBetween(ms, now);
  if (days === 0) return relative(l, "auto").format(-Math.floor(past / hourMs), "hour");
  if (days < 7) return relative(l, "auto").format(-days, "day");
  return dates(l, sameYear(ms, now) ? "day" : "dayOfYear").format(ms);
}

/** What somebody says of themself, while it lasts. */
export function customText(custom: CustomStatusView | undefined, now: number): string {
  const c = lasting(custom, now);
  return c ? `${c.emoji} ${c.text}`.trim() : "";
}

/** A time to come. */
export function until(ms: number, l: Locale, now = Date.now()): string {
  return sameDay(ms, now) ? clock(ms, l) : dates(l, "dateAndTime").format(ms);
}

/** A time to come, as short as it can be said: of today the clock, of the next days also the day of the week. */
export function comes(ms: number, l: Locale, now = Date.now()): string {
  const days = -daysBetween(ms, now);
  return days < 1 ? clock(ms, l) : dates(l, days < 7 ? "weekdayAndTime" : "dateAndTime").format(ms);
}

export function bytes(n: number, l: Locale): string {
  const units = ["B", "KB", "MB", "GB"];
  let i = 0;
  while (n >= 1000 && i < units.length - 1) {
    n /= 1000;
    i++;
  }
  return `${numbers(l, n < 10 && i > 0 ? "tenths" : "whole").format(n)} ${units[i]}`;
}

/** Names for a sentence, as "Ann, Bob and 3 others" where there are more than a few. */
export function someOf(names: readonly string[], t: Translate, most = 3): readonly string[] {
  return names.length <= most ? names : [...names.slice(0, most - 1), t("others", { n: names.length - most + 1 })];
}

/** The beginning of a text, whole characters. */
export function excerpt(text: string, most = 80): string {
  const segments = [...new Intl.Segmenter().segment(text.slice(0, 10 * most))].map((s) => s.segment);
  return segments.length > most ? `${segments.slice(0, most - 1).join("")}…` : segments.join("");
}

/** A few emoji and nothing else: they are shown large. */
export function isEmoji(text: string): boolean {
  if (text.length > 40 || !/^(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\p{Regional_Indicator}|[\u200d\ufe0f])+$/u.test(text)) return false;
  return [...new Intl.Segmenter().segment(text)].length <= 3;
}

/** So many names a control entry shows. */
const mostNames = 8;

type NameOf = (user: string) => string;

/** Where a message is: a channel and a ticket have words of their own for what happens to them. */
export type Within = Pick<ConversationView, "channel" | "ticket">;

/** What a control entry says to a person. */
export function controlText(c: Control, name: NameOf, t: Translate, within?: Within): string {
  if (within?.ticket || c.action === Control_Action.TICKET) return ticketText(c, name, t);
  const channel = within?.channel;
  const who = name(c.actor);
  // "You" begins a sentence, "you" is within it.
  const object = (u: string) => (name(u) === t("you") ? t("youObject") : name(u));
  const users = someOf(c.users.map((u, i) => (i === 0 ? name(u) : object(u))), t, mostNames);
  const them = someOf(c.users.map(object), t, mostNames);
  switch (c.action) {
    case Control_Action.CREATED:
      return c.text ? t(channel ? "createdChannel" : "createdGroup", { who, text: c.text }) : t("startedChat");
    case Control_Action.JOINED:
      return t("joined", { users });
    case Control_Action.LEFT:
      return t("left", { users });
    case Control_Action.REMOVED:
      return t("removed", { who, users: them });
    case Control_Action.BANNED:
      return t("bannedBy", { who, users: them });
    case Control_Action.UNBANNED:
      return t("unbannedBy", { who, users: them });
    case Control_Action.ROLE:
      return t(c.role === Role.ADMIN ? "madeAdmin" : "madeMember", { who, users: them });
    case Control_Action.RENAMED:
      return t(channel ? "renamedChannel" : "renamed", { who, text: c.text });
    case Control_Action.ANNOUNCED:
      return t(channel ? "described" : "announced", { who, text: c.text });
    case Control_Action.MUTED:
      return t(c.users.length === 0 ? (c.untilMs > 0n ? "mutedAllBy" : "unmutedAllBy") : c.untilMs > 0n ? "mutedSome" : "unmutedSome", { who, users: them });
    case Control_Action.TRANSFERRED:
      return t("transferred", { users: them });
    case Control_Action.DISSOLVED:
      return t("dissolvedBy", { who });
    case Control_Action.JOIN_POLICY:
      return t("policyChanged", { who });
    case Control_Action.RETENTION:
      return retentionOf(c) === 0 ? t("keptAsServer", { who }) : t("keptFor", { who, time: duration(retentionOf(c), t) });
    case Control_Action.AVATAR:
      return t("avatarChanged", { who });
    default:
      return "";
  }
}

const units = [
  ["days", 86_400],
  ["hours", 3_600],
  ["minutes", 60],
] as const;

/** A length of time in its largest unit, as "3 days". */
export function duration(seconds: number, t: Translate): string {
  const unit = units.find(([, size]) => seconds % size === 0 && seconds >= size);
  return unit ? t(unit[0], { n: seconds / unit[1] }) : t("seconds", { n: seconds });
}

/** A length of time in the unit that fits it, rounded. */
export function roughly(ms: number, t: Translate): string {
  const seconds = Math.max(1, Math.round(ms / 1_000));
  const unit = units.find(([, size]) => seconds >= size);
  return unit ? t(unit[0], { n: Math.round(seconds / unit[1]) }) : t("seconds", { n: seconds });
}

/** The length of a recording, as 1:05 or 1:02:05. */
export function length(ms: number): string {
  const s = Math.round(ms / 1_000);
  const two = (n: number) => String(n).padStart(2, "0");
  return s < 3_600 ? `${Math.floor(s / 60)}:${two(s % 60)}` : `${Math.floor(s / 3_600)}:${two(Math.floor(s / 60) % 60)}:${two(s % 60)}`;
}

/** A message in one line. */
export function preview(m: Pick<ChatMessage, "content"> & { recallSeq?: number }, name: NameOf, t: Translate, within?: Within): string {
  if (m.recallSeq) return t("recalled");
  const k = m.content.kind;
  switch (k.case) {
    case "text": {
      const text = k.value.slice(0, 1000);
      return withoutMarks(text, linkedParts(text, m.content)).replace(/\s+/g, " ").slice(0, 200) || (m.content.brokenOff ? t("brokenOff") : "");
    }
    case "image":
      return `🖼 ${k.value.caption || t("photo")}`;
    case "file":
      return `📎 ${k.value.name || t("file")}`;
    case "voice":
      return `🎤 ${t("voice")}`;
    case "video":
      return `🎞 ${k.value.caption || t("video")}`;
    case "album":
      return `🖼 ${k.value.caption || t("album", { n: k.value.items.length })}`;
    case "forward":
      return `↪ ${k.value.title || t("forwarded")}`;
    case "location":
      return `📍 ${k.value.label || k.value.address || t("location")}`;
    case "card":
      return k.value.title || t("card");
    case "custom":
      return fallbackText(k.value) || t("custom");
    case "streamed":
      return `✍ ${t("beingWritten")}`;
    case "control":
      // Of a resolved ticket, the entry may also be that of its rating.
      return k.value.ticketStatus === TicketStatus.RESOLVED ? t("ticketIsResolved") : controlText(k.value, name, t, within);
    default:
      return "";
  }
}
