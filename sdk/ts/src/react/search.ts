import { useCallback, useEffect, useMemo, useRef } from "react";
import type { HitKind } from "../gen/rialto/search/v1/search_pb.js";
import type { SearchQuery, SearchState } from "../search.js";
import { useOwner, useRialto, useSnapshot } from "./context.js";
import { useOnline } from "./hooks.js";

/** How long after the last key a query is sent. */
const afterKeyMs = 200;

export interface Search extends SearchState {
  /** The state is that of the query that was passed, and answered. */
  readonly settled: boolean;
  /** Reads the next hits of a kind. */
  readonly loadMore: (kind: HitKind) => Promise<void>;
  /** Sends the query at once: for the Enter key, and after an error. */
  readonly now: () => Promise<void>;
}

/** Searches for what is being typed, a moment after the last key, while the client is online. Without a query it shows nothing. */
export function useSearch(query: SearchQuery | undefined): Search {
  const client = useRialto();
  const owner = useOwner();
  const online = useOnline();
  const live = useMemo(() => client.liveSearch(), [client, owner]);
  const key = query && JSON.stringify(query);
  const wanted = useRef(query);
  wanted.current = query;
  const now = useCallback(async () => {
    if (wanted.current) await live.search(wanted.current);
  }, [live]);
  useEffect(() => {
    if (key === undefined) return live.clear();
    if (!online) return;
    const timer = setTimeout(() => void now(), afterKeyMs);
    return () => clearTimeout(timer);
  }, [live, key, online, now]);
  useEffect(() => () => live.clear(), [live]);
  const state = useSnapshot(() => live.state);
  const loadMore = useCallback((kind: HitKind) => live.more(kind), [live]);
  const settled = key !== undefined && !state.searching && state.query !== undefined && JSON.stringify(state.query) === key;
  return { ...state, settled, loadMore, now };
}
