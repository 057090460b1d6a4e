import { useEffect, useMemo, useRef, useState } from "react";
import type { RunAction } from "./action.js";
import { useOnline } from "./client.js";
import { Pages, type Listed } from "./pages.js";

export interface ListedPages<T> {
  /** Undefined until the first page is there. */
  list: readonly T[] | undefined;
  /** Reads the next page; undefined at the end. */
  more: (() => void) | undefined;
  reload: () => Promise<void>;
}

/** A list in pages. `of` identifies it; another `version` reloads it. `run` shows why a page could not be read. */
export function usePages<T>(run: RunAction, of: string, version: number, read: (page: string) => Promise<Listed<T>>): ListedPages<T> {
  const online = useOnline();
  const [shown, setShown] = useState<Listed<T>>();
  const pages = useMemo(() => new Pages(read), [of]);
  const newest = useRef(pages);
  newest.current = pages;
  const show = (reading: Promise<Listed<T>>) =>
    run(async () => {
      const listed = await reading;
      if (newest.current === pages) setShown(listed);
    });
  const reload = () => show(pages.reload());
  useEffect(() => {
    if (online) void reload();
  }, [pages, version, online]);
  return { list: shown?.items, more: shown?.next ? () => void show(pages.more()) : undefined, reload };
}
