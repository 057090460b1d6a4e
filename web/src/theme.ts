import { kept } from "./kept.js";

export type Theme = "auto" | "light" | "dark";

export function getTheme(): Theme {
  const t = kept.getItem("theme");
  return t === "light" || t === "dark" ? t : "auto";
}

export function setTheme(t: Theme): void {
  kept.setItem("theme", t);
  applyTheme();
}

export function applyTheme(): void {
  const t = getTheme();
  if (t === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = t;
}
