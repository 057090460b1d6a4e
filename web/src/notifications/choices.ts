import { useSyncExternalStore } from "react";
import { storage } from "../storage.js";

/** What the user chose for notifications, on this device. */
export interface Choices {
  on: boolean;
  /** Whether a notification shows who writes and what. */
  preview: boolean;
  sound: boolean;
  /** Whether the server pushes them while the app is closed. */
  push: boolean;
}

const key = "notifications";
const defaults: Choices = { on: false, preview: true, sound: true, push: false };
const listeners = new Set<() => void>();
let read: { text: string | null; choices: Choices } = { text: null, choices: defaults };

/** The choices as stored: another window may have changed them. */
export function getChoices(): Choices {
  const text = storage.getItem(key);
  if (text !== read.text) read = { text, choices: parsed(text) };
  return read.choices;
}

function parsed(text: string | null): Choices {
  try {
    const stored: unknown = JSON.parse(text ?? "{}");
    if (typeof stored !== "object" || stored === null) return defaults;
    const chosen = (name: keyof Choices) => (name in stored ? (stored as Record<string, unknown>)[name] === true : defaults[name]);
    return { on: chosen("on"), preview: chosen("preview"), sound: chosen("sound"), push: chosen("push") };
  } catch {
    return defaults;
  }
}

export function choose(part: Partial<Choices>): void {
  storage.setItem(key, JSON.stringify({ ...getChoices(), ...part }));
  for (const f of listeners) f();
}

export function useChoices(): Choices {
  return useSyncExternalStore(subscribe, getChoices);
}

function subscribe(f: () => void): () => void {
  listeners.add(f);
  addEventListener("storage", f);
  return () => {
    listeners.delete(f);
    removeEventListener("storage", f);
  };
}
