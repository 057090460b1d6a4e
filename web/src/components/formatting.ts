import type { KeyboardEvent } from "react";
import { flushSync } from "react-dom";

/** The marks that a key puts around what is selected, with Ctrl or ⌘. */
const marks: Record<string, string> = { b: "**", i: "*" };

/** Handles the keys for bold and italic text in a field; false for all others. */
export function formatKey(e: KeyboardEvent, field: HTMLTextAreaElement | null, change: (text: string) => void): boolean {
  const mark = marks[e.key.toLowerCase()];
  if (!mark || !field || !(e.ctrlKey || e.metaKey) || e.altKey || e.shiftKey) return false;
  e.preventDefault();
  const { text, start, end } = toggleMark(field.value, field.selectionStart, field.selectionEnd, mark);
  flushSync(() => change(text));
  field.setSelectionRange(start, end);
  return true;
}

/** Puts a mark around a part of a text, or removes it from there. */
export function toggleMark(text: string, start: number, end: number, mark: string): { text: string; start: number; end: number } {
  const n = mark.length;
  const [before, selected, after] = [text.slice(0, start), text.slice(start, end), text.slice(end)];
  const stars = (s: string) => /^\**/.exec(s)![0].length;
  const around = Math.min(stars([...before].reverse().join("")), stars(after));
  // Two marks are bold, one is italic, and three are both.
  if (around === n || around === 3) return { text: before.slice(0, -n) + selected + after.slice(n), start: start - n, end: end - n };
  return { text: before + mark + selected + mark + after, start: start + n, end: end + n };
}
