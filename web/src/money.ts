import { tag, type Locale } from "./intl.js";

/** Currencies to choose from, besides those that goods have already. */
export const currencies = ["CNY", "USD", "EUR", "GBP", "JPY", "HKD", "TWD", "KRW", "SGD", "INR", "CHF", "AUD", "CAD", "BRL"] as const;

export const mostPriceMinor = 999_999_999_999;

const made = new Map<string, Intl.NumberFormat>();

function formatter(currency: string, l: Locale): Intl.NumberFormat {
  const key = `${tag(l)} ${currency}`;
  let f = made.get(key);
  if (!f) made.set(key, (f = new Intl.NumberFormat(tag(l), { style: "currency", currency })));
  return f;
}

/** How many digits of a currency are behind the point, as 2 of EUR and none of JPY. */
export function digitsOf(currency: string): number {
  return formatter(currency, "en").resolvedOptions().maximumFractionDigits ?? 2;
}

/** An amount of the smallest unit of a currency, as people write it. */
export function money(minor: bigint | number, currency: string, l: Locale): string {
  return formatter(currency, l).format(Number(minor) / 10 ** digitsOf(currency));
}

/** What somebody typed as a price, in the smallest unit of the currency; undefined if it is no price. */
export function minorOf(typed: string, currency: string): number | undefined {
  const [, whole, part = ""] = /^(\d{1,12})(?:[.,](\d+))?$/.exec(typed.trim()) ?? [];
  const digits = digitsOf(currency);
  if (whole === undefined || part.length > digits) return undefined;
  const minor = Number(whole + part.padEnd(digits, "0"));
  return minor <= mostPriceMinor ? minor : undefined;
}

/** A price as it is typed. */
export function typedPrice(minor: bigint | number, currency: string): string {
  const digits = digitsOf(currency);
  return (Number(minor) / 10 ** digits).toFixed(digits);
}
