import { useSearch } from "@rialto-im/client/react";
import { useEffect, useRef, useState, type KeyboardEvent, type RefObject } from "react";
import { flushSync } from "react-dom";
import { recentSearches, useClient } from "../client.js";
import { useText } from "../i18n.js";
import { go } from "../routes.js";
import { keepTyped, lastTyped } from "../search/box.js";
import { mostText, queryOf, takeFilters, typedFilter, withFilter, without, type Typed } from "../search/filters.js";
import { hitPath, sectionsOf, type Option } from "../search/options.js";
import { useCompletions, useResolve } from "./useCompletions.js";

/** What is typed in the search, what it finds, and the keys that choose. near is the chat that is open. leaving is set when a result is opened. */
export function useSearchBox(near: string | undefined, leaving: RefObject<boolean>) {
  const client = useClient();
  const t = useText();
  const { field, typed, setTyped, typing, change, dismiss, moved } = useTyped();
  const query = queryOf(typed, typing);
  const search = useSearch(query);
  const completions = useCompletions(typing, near);
  const [recent, setRecent] = useState(() => recentSearches.list());
  const sections = sectionsOf({ typing, completions, recent, search, searches: query !== undefined }, t);
  const options = sections.flatMap((s) => s.options);
  const picking = usePicking(options, !typing && query === undefined, `${JSON.stringify(typed)} ${JSON.stringify(search.answered)} ${typing?.start ?? ""}`);

  const choose = (option: Option) => {
    switch (option.kind) {
      case "recent":
        return change(option.typed);
      case "completion":
        return typing && change({ text: without(typed.text, typing), filters: withFilter(typed.filters, option.completion.filter) }, typing.start);
      case "more":
        picking.stay();
        return void search.loadMore(option.of);
      case "hit":
        recentSearches.add(typed);
        leaving.current = true;
        go(hitPath(option.hit, client));
    }
  };
  /** Enter opens what is active. What is found for an earlier text is not opened: the search is made at once. */
  const enter = () => {
    const option = options[picking.at];
    if (!option || (option.kind === "hit" && !search.settled)) void search.now();
    else choose(option);
  };
  const key = (e: KeyboardEvent<HTMLInputElement>) => {
    if (e.nativeEvent.isComposing) return; // an input method has these keys
    const last = typed.filters.at(-1);
    if (picking.key(e)) return e.preventDefault();
    if (e.key === "Enter") enter();
    else if (e.key === "Tab" && !e.shiftKey && typing && options[picking.at]) choose(options[picking.at]!);
    else if (e.key === "Backspace" && last && e.currentTarget.selectionStart === 0 && e.currentTarget.selectionEnd === 0) setTyped({ text: typed.text, filters: typed.filters.slice(0, -1) });
    else return;
    e.preventDefault();
  };
  const clearRecent = () => {
    recentSearches.clear();
    setRecent([]);
    field.current?.focus();
  };
  return { field, typed, setTyped, typing, change, dismiss, moved, query, search, sections, options, active: picking.at, choose, key, recent, clearRecent };
}

/** The text with the filters. Filters that are typed to their end are taken out of the text. */
function useTyped() {
  const field = useRef<HTMLInputElement>(null);
  const [typed, set] = useState(lastTyped);
  const [cursor, setCursor] = useState(typed.text.length);
  /** The text with a filter that is not to be completed. */
  const [dismissed, setDismissed] = useState<string>();
  const resolve = useResolve();
  useEffect(() => keepTyped(typed), [typed]);
  const setTyped = (next: Typed) => {
    const text = next.text.slice(0, mostText);
    set(text === next.text ? takeFilters(next, resolve) : { ...next, text });
  };
  /** Sets what is typed, and where the cursor is then. */
  const change = (next: Typed, at = next.text.length) => {
    flushSync(() => {
      setTyped(next);
      setCursor(at);
    });
    field.current?.focus();
    field.current?.setSelectionRange(at, at);
  };
  const found = typedFilter(typed.text, Math.min(cursor, typed.text.length));
  return {
    field, typed, setTyped, change,
    typing: dismissed === typed.text ? undefined : found,
    /** Ends the completion; false where there is none. */
    dismiss: () => {
      if (!found || dismissed === typed.text) return false;
      setDismissed(typed.text);
      return true;
    },
    moved: () => setCursor(field.current?.selectionStart ?? 0),
  };
}

/** Which option is active: the first, or with optional none, until the arrow keys choose. It starts again with another `of`. */
function usePicking(options: readonly Option[], optional: boolean, of: string) {
  const [picked, setPicked] = useState<{ of: string; at: number }>();
  const last = options.length - 1;
  const first = optional ? -1 : 0;
  const at = Math.min(picked?.of === of ? picked.at : first, last);
  const pick = (next: number) => setPicked({ of, at: next });
  const key = (e: KeyboardEvent): boolean => {
    if (last < 0 || e.altKey || e.ctrlKey || e.metaKey || e.shiftKey) return false;
    if (e.key === "ArrowDown") pick(at >= last ? 0 : at + 1);
    else if (e.key === "ArrowUp") pick(at <= 0 ? last : at - 1);
    else if (e.key === "PageDown") pick(Math.min(last, at + 8));
    else if (e.key === "PageUp") pick(Math.max(0, at - 8));
    else return false;
    return true;
  };
  /** The place stays while more options come. */
  const stay = () => pick(Math.max(0, at));
  return { at, key, stay };
}
