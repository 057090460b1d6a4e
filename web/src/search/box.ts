import { go, path } from "../routes.js";
import { nothingTyped, type Typed } from "./filters.js";

/** What was typed last: it is there again when one comes back from a result. It is not in the address, which others may see. */
let typed = nothingTyped;

export function lastTyped(): Typed {
  return typed;
}

export function keepTyped(next: Typed): void {
  typed = next;
}

/** Opens the search; with what to search for, or else as it was left. */
export function openSearch(next?: Typed): void {
  if (next) typed = next;
  go(path.search);
}

const isApple = /Mac|iPhone|iPad/.test(typeof navigator === "undefined" ? "" : navigator.platform);

/** The key that opens the search, as people write it, and as aria-keyshortcuts has it. */
export const shortcut = isApple ? { text: "⌘K", aria: "Meta+K" } : { text: "Ctrl K", aria: "Control+K" };

/** Whether a key is the one that opens the search. Ctrl K means something else where keyboards have ⌘. */
export function isShortcut(e: Pick<KeyboardEvent, "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey">, apple = isApple): boolean {
  return e.key.toLowerCase() === "k" && (apple ? e.metaKey && !e.ctrlKey : e.ctrlKey && !e.metaKey) && !e.altKey && !e.shiftKey;
}
