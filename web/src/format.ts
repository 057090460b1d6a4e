import { Control_Action, Role, type ChatMessage, type Control } from "@rialto-im/client";
import type { Locale, Translate } from "./i18n.js";

/** The form of times and numbers: that of one's own region where it speaks the language of the app, as 24 hours in en-GB. */
export function tag(l: Locale, own: readonly string[] = typeof navigator === "undefined" ? [] : navigator.languages): string {
  return own.find((o) => o.split("-")[0] === l) ?? (l === "zh" ? "zh-CN" : "en");
}

export function clock(ms: number, l: Locale): string {
  return new Intl.DateTimeFormat(tag(l), { hour: "2-digit", minute: "2-digit" }).format(ms);
}

/** A time in full. */
export function moment(ms: number, l: Locale): string {
  return new Intl.DateTimeFormat(tag(l), { dateStyle: "full", timeStyle: "medium" }).format(ms);
}

function dayOf(ms: number): number {
  const d = new Date(ms);
  return new Date(d.getFullYear(), d.getMonth(), d.getDate()).getTime();
}

export function sameDay(a: number, b: number): boolean {
  return dayOf(a) === dayOf(b);
}

/** A day as a heading: today, yesterday, or its date. */
export function day(ms: number, l: Locale, t: Translate, now = Date.now()): string {
  const days = Math.round((dayOf(now) - dayOf(ms)) / 86_400_000);
  if (days === 0) return t("today");
  if (days === 1) return t("yesterday");
  const year = new Date(ms).getFullYear() === new Date(now).getFullYear() ? {} : { year: "numeric" as const };
  return new Intl.DateTimeFormat(tag(l), { ...year, month: "long", day: "numeric", weekday: "short" }).format(ms);
}

/** A time as short as it can be said in a list. */
export function when(ms: number, l: Locale, t: Translate, now = Date.now()): string {
  if (sameDay(ms, now)) return clock(ms, l);
  if (sameDay(ms, now - 86_400_000)) return t("yesterday");
  return new Intl.DateTimeFormat(tag(l), { month: "short", day: "numeric" }).format(ms);
}

export function bytes(n: number, l: Locale): string {
  const units = ["B", "KB", "MB", "GB"];
  let i = 0;
  while (n >= 1000 && i < units.length - 1) {
    n /= 1000;
    i++;
  }
  return `${new Intl.NumberFormat(tag(l), { maximumFractionDigits: n < 10 && i > 0 ? 1 : 0 }).format(n)} ${units[i]}`;
}

/** A few emoji and nothing else: they are shown large. */
export function isEmoji(text: string): boolean {
  if (text.length > 40 || !/^(?:\p{Extended_Pictographic}|\p{Emoji_Modifier}|\p{Regional_Indicator}|[\u200d\ufe0f])+$/u.test(text)) return false;
  return [...new Intl.Segmenter().segment(text)].length <= 3;
}

type NameOf = (user: string) => string;

/** What a control entry says to a person. */
export function controlText(c: Control, name: NameOf, t: Translate): string {
  const who = name(c.actor);
  const users = c.users.map(name).join(", ");
  const them = c.users.map((u) => (name(u) === t("you") ? t("youObject") : name(u))).join(", ");
  switch (c.action) {
    case Control_Action.CREATED:
      return c.text ? t("createdGroup", { who, text: c.text }) : t("startedChat");
    case Control_Action.JOINED:
      return t("joined", { users });
    case Control_Action.LEFT:
      return t("left", { users });
    case Control_Action.REMOVED:
      return t("removed", { who, users: them });
    case Control_Action.ROLE:
      return t(c.role === Role.ADMIN ? "madeAdmin" : "madeMember", { who, users: them });
    case Control_Action.RENAMED:
      return t("renamed", { who, text: c.text });
    case Control_Action.ANNOUNCED:
      return t("announced", { who, text: c.text });
    case Control_Action.MUTED:
      return t(c.users.length === 0 ? (c.untilMs > 0n ? "mutedAllBy" : "unmutedAllBy") : c.untilMs > 0n ? "mutedSome" : "unmutedSome", { who, users: them });
    case Control_Action.TRANSFERRED:
      return t("transferred", { users: them });
    case Control_Action.DISSOLVED:
      return t("dissolvedBy", { who });
    case Control_Action.JOIN_POLICY:
      return t("policyChanged", { who });
    case Control_Action.RETENTION:
      return c.retentionDays === 0 ? t("keptAsServer", { who }) : t("keptFor", { who, n: c.retentionDays });
    case Control_Action.AVATAR:
      return t("avatarChanged", { who });
    default:
      return "";
  }
}

/** A message in one line. */
export function preview(m: Pick<ChatMessage, "content">, name: NameOf, t: Translate): string {
  const k = m.content.kind;
  switch (k.case) {
    case "text":
      return k.value.replace(/\s+/g, " ").slice(0, 200);
    case "image":
      return `🖼 ${k.value.caption || t("photo")}`;
    case "file":
      return `📎 ${k.value.name || t("file")}`;
    case "voice":
      return t("voice");
    case "video":
      return t("video");
    case "location":
      return t("location");
    case "card":
      return k.value.title || t("card");
    case "custom":
      return t("custom");
    case "control":
      return controlText(k.value, name, t);
    default:
      return "";
  }
}
