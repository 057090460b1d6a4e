import { fill, useLocale, type Locale, type Values } from "./locale.js";
import { en, type Key } from "./text/en.js";
import { zh } from "./text/zh.js";

export { getLocale, setLocale, type Locale, type Values } from "./locale.js";
export type { Key } from "./text/en.js";

export const dictionaries: Record<Locale, Record<Key, string>> = { en, zh };

export type Translate = (key: Key, values?: Values) => string;

/** The text of a key in a language, with its blanks filled in. */
export function translate(l: Locale, key: Key, values?: Values): string {
  return fill(l, dictionaries[l], key, values);
}

export function useText(): Translate {
  const l = useLocale();
  return (key, values) => translate(l, key, values);
}
