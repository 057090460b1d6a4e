import { useSyncExternalStore } from "react";
import { storage } from "./storage.js";

export type Theme = "auto" | "light" | "dark";

const listeners = new Set<() => void>();

export function getTheme(): Theme {
  const t = storage.getItem("theme");
  return t === "light" || t === "dark" ? t : "auto";
}

export function setTheme(t: Theme): void {
  if (t === getTheme()) return;
  storage.setItem("theme", t);
  applyTheme();
  for (const f of listeners) f();
}

export function useTheme(): Theme {
  return useSyncExternalStore(subscribe, getTheme);
}

function subscribe(f: () => void): () => void {
  listeners.add(f);
  return () => listeners.delete(f);
}

export function applyTheme(): void {
  const t = getTheme();
  if (t === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = t;
}
