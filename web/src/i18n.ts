import { useSyncExternalStore } from "react";
import { kept } from "./kept.js";
import { en } from "./text/en.js";
import { zh } from "./text/zh.js";

export type Key = keyof typeof en;

export type Locale = "en" | "zh";
export const dictionaries: Record<Locale, Record<Key, string>> = { en, zh };

let locale: Locale = read();
const listeners = new Set<() => void>();

function read(): Locale {
  const chosen = kept.getItem("locale");
  if (chosen === "en" || chosen === "zh") return chosen;
  return typeof navigator !== "undefined" && navigator.language.startsWith("zh") ? "zh" : "en";
}

export function getLocale(): Locale {
  return locale;
}

export function setLocale(l: Locale): void {
  locale = l;
  kept.setItem("locale", l);
  document.documentElement.lang = l === "zh" ? "zh-CN" : "en";
  for (const f of listeners) f();
}

function subscribe(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

export type Translate = (key: Key, values?: Record<string, string | number>) => string;

/** The text of a key with its blanks filled in; that of keyOne, where there is one and n is 1. */
export function translate(l: Locale, key: Key, values?: Record<string, string | number>): string {
  const one = `${key}One`;
  const texts: Record<string, string> = dictionaries[l];
  const text = (values?.["n"] === 1 ? texts[one] : undefined) ?? dictionaries[l][key];
  return text.replace(/\{(\w+)\}/g, (all, name: string) => String(values?.[name] ?? all));
}

export function useText(): Translate {
  const l = useSyncExternalStore(subscribe, getLocale);
  return (key, values) => translate(l, key, values);
}
