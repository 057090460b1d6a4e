import { dates, numbers } from "../intl.js";
import { getLocale } from "../locale.js";
import type { Translate } from "./text.js";

export function count(n: number): string {
  return numbers(getLocale(), n >= 100 ? "whole" : "tenths").format(n);
}

export function bytes(n: number): string {
  const power = Math.min(4, Math.max(0, Math.floor(Math.log2(Math.max(n, 1)) / 10)));
  return `${count(n / 1024 ** power)} ${["B", "KiB", "MiB", "GiB", "TiB"][power]!}`;
}

export function milliseconds(seconds: number): string {
  return `${count(seconds * 1000)} ms`;
}

export function percent(share: number): string {
  return `${count(share * 100)} %`;
}

export function moment(ms: bigint): string {
  return dates(getLocale(), "dateAndTime").format(Number(ms));
}

/** A duration by its two greatest units. */
export function duration(ms: number, t: Translate): string {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (hours >= 24) return t("days", { days: Math.floor(hours / 24), hours: hours % 24 });
  if (hours > 0) return t("hours", { hours, minutes: minutes % 60 });
  return t("minutes", { minutes, seconds: seconds % 60 });
}

/** A figure of a model or of a score, to three digits. */
export function three(n: number | undefined, t: Translate): string {
  return n === undefined ? t("none") : n.toFixed(3);
}
