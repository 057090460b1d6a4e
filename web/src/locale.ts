import { useSyncExternalStore } from "react";
import { lists, numbers, plurals, type Locale } from "./intl.js";
import { storage } from "./storage.js";

export type { Locale } from "./intl.js";

let locale: Locale = read();
const listeners = new Set<() => void>();

function read(): Locale {
  const chosen = storage.getItem("locale");
  if (chosen === "en" || chosen === "zh") return chosen;
  return typeof navigator !== "undefined" && navigator.language.startsWith("zh") ? "zh" : "en";
}

export function getLocale(): Locale {
  return locale;
}

export function setLocale(l: Locale): void {
  if (l === locale && document.documentElement.lang === tagOf(l)) return;
  locale = l;
  storage.setItem("locale", l);
  document.documentElement.lang = tagOf(l);
  for (const f of listeners) f();
}

function tagOf(l: Locale): string {
  return l === "zh" ? "zh-CN" : "en";
}

function subscribe(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

/** The language, which the component follows. */
export function useLocale(): Locale {
  return useSyncExternalStore(subscribe, getLocale);
}

/** What fills the blanks of a text. Numbers and lists are written as the language does. */
export type Values = Record<string, string | number | readonly string[]>;

/**
 * The text of a key with its blanks filled in. Where n is a number, the text is that of its plural category in the language, as
 * keyOne or keyFew; without one, it is that of the key, which is for the category "other".
 */
export function fill<Key extends string>(l: Locale, dictionary: Record<Key, string>, key: Key, values?: Values): string {
  const texts: Record<string, string> = dictionary;
  const n = values?.["n"];
  const category = typeof n === "number" ? plurals(l, "cardinal").select(n) : "other";
  const text = texts[key + category.charAt(0).toUpperCase() + category.slice(1)] ?? dictionary[key];
  return text.replace(/\{(\w+)\}/g, (all, name: string) => {
    const value = values?.[name] ?? all;
    if (typeof value === "number") return numbers(l, "plain").format(value);
    return typeof value === "string" ? value : lists(l, "and").format(value);
  });
}
