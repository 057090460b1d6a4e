import type { BusinessHours, HelpDesk } from "@rialto-im/client";
import { clock, comes } from "./format.js";
import type { Locale, Translate } from "./i18n.js";
import { dates } from "./intl.js";

/** Whether a desk is open. The answer is as old as the list of desks, but says when it opens next. */
export function isOpen(d: HelpDesk, now: number): boolean {
  return d.isOpen || (d.opensAtMs > 0n && Number(d.opensAtMs) <= now);
}

/** Whether a desk is open, or when it opens, in a few words. */
export function deskState(d: HelpDesk, l: Locale, t: Translate, now: number): string {
  if (d.closed) return t("deskClosed");
  if (isOpen(d, now)) return t("deskOpen");
  return d.opensAtMs > 0n ? t("deskOpens", { when: comes(Number(d.opensAtMs), l, now) }) : t("deskNotSoon");
}

/** Days of the week that have the same hours. */
export interface HoursRow {
  days: string;
  hours: string;
}

/** A desk's business hours in a week: one row for days in a row that have the same ones. */
export function hoursRows(all: readonly BusinessHours[], l: Locale, t: Translate): HoursRow[] {
  const rows: { first: number; last: number; hours: string }[] = [];
  for (let day = 1; day <= 7; day++) {
    const ranges = all.filter((h) => h.weekday === day).sort((a, b) => a.fromMinute - b.fromMinute);
    const hours = ranges.map((h) => `${minute(h.fromMinute, l)}–${minute(h.toMinute, l)}`).join(", ");
    const before = rows.at(-1);
    if (before && before.last === day - 1 && before.hours === hours) before.last = day;
    else if (hours) rows.push({ first: day, last: day, hours });
  }
  return rows.map(({ first, last, hours }) => ({ days: first === last ? weekday(first, l) : t("hoursToDay", { from: weekday(first, l), to: weekday(last, l) }), hours }));
}

/** The name of a day: 1 is Monday. */
function weekday(day: number, l: Locale): string {
  return dates(l, "weekday").format(new Date(2024, 0, day)); // that January began on a Monday
}

function minute(n: number, l: Locale): string {
  return clock(new Date(2024, 0, 1, 0, n).getTime(), l);
}
