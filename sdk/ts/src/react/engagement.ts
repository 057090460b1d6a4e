import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { withEngagement } from "../engagements.js";
import type { Comment } from "../gen/rialto/comment/v1/comment_pb.js";
import type { Post } from "../gen/rialto/feed/v1/feed_pb.js";
import type { Relation } from "../model.js";
import type { LessOf } from "../operations/ranking.js";
import type { PostEntries, PostEntry } from "../postEntries.js";
import { useOwner, useRialto, useSnapshot } from "./context.js";
import { useOnline } from "./hooks.js";

export interface Engagement<T extends Post | Comment> {
  /** The post or comment, with what the user did here. */
  readonly shown: T;
  /** Why the last change was taken back. */
  readonly error: unknown;
  /** Likes it, or takes the like back. It shows at once. */
  readonly toggleLike: () => void;
  /** Adds a post to the favourites, or removes it. It shows at once. Nothing for comments. */
  readonly toggleFavourite: () => void;
}

/** What the user does with a post or comment. It shows at once, and is taken back if it fails. */
export function useEngagement<T extends Post | Comment>(of: T): Engagement<T> {
  const client = useRialto();
  const [state, setState] = useState<{ of: T; shown: T; error?: unknown }>({ of, shown: of });
  // What was done here counts until the list has another copy, which has it.
  const shown = client.withPending(state.of === of ? state.shown : of);
  const error = state.of.id === of.id ? state.error : undefined;
  useEffect(
    () =>
      client.watchPosts({
        changed: () => {},
        removed: () => {},
        published: () => {},
        engaged: (change) => setState((s) => ({ ...(s.of === of ? s : { of, shown: of }), shown: withEngagement(s.of === of ? s.shown : of, change) })),
      }),
    [client, of],
  );
  const latest = useRef(shown);
  latest.current = shown;
  const failed = useCallback((work: Promise<void>) => {
    setState((s) => ({ ...s, error: undefined }));
    work.catch((err: unknown) => setState((s) => ({ ...s, error: err })));
  }, []);
  const toggleLike = useCallback(() => failed(client.setLiked(latest.current, !latest.current.liked)), [client, failed]);
  const toggleFavourite = useCallback(() => {
    const post = latest.current;
    if (post.$typeName === "rialto.feed.v1.Post") failed(client.setFavourited(post, !post.favourited));
  }, [client, failed]);
  return { shown, error, toggleLike, toggleFavourite };
}

export interface ListedPosts {
  readonly posts: readonly PostEntry[];
  /** Those of them that the user may not see any more: their place stays until the list is read again. */
  readonly gone: ReadonlySet<string>;
  /** The first page is not there yet. */
  readonly loading: boolean;
  /** Why posts could not be read. */
  readonly error: unknown;
  readonly hasMore: boolean;
  /** Reads the next page. */
  readonly loadMore: () => Promise<void>;
  /** Reads the list again. */
  readonly refresh: () => Promise<void>;
}

/** The posts that the user likes. One that is no longer liked stays until the list is read again. */
export function useLikedPosts(): ListedPosts {
  const client = useRialto();
  const owner = useOwner();
  return useEntries(useMemo(() => client.likedPosts(), [client, owner]));
}

/** The user's favourites. One that was removed stays until the list is read again. */
export function useFavourites(): ListedPosts {
  const client = useRialto();
  const owner = useOwner();
  return useEntries(useMemo(() => client.favourites(), [client, owner]));
}

/** The user's view history. */
export function useViewedPosts(): ListedPosts {
  const client = useRialto();
  const owner = useOwner();
  return useEntries(useMemo(() => client.viewedPosts(), [client, owner]));
}

/** The posts that are popular. */
export function useHotPosts(window: "now" | "today" | "week"): ListedPosts {
  const client = useRialto();
  const owner = useOwner();
  return useEntries(useMemo(() => client.hotPosts(window), [client, owner, window]));
}

export interface RankedPosts extends ListedPosts {
  /** Shows less of an author, whose posts disappear at once, or of a kind of posts. */
  readonly showLess: (of: LessOf) => Promise<void>;
}

/** The posts that are ranked for the user. They are ranked again by refresh. */
export function useForYou(): RankedPosts {
  const client = useRialto();
  const owner = useOwner();
  const list = useMemo(() => client.forYou(), [client, owner]);
  const showLess = useCallback(
    async (of: LessOf) => {
      await client.showLess(of);
      if ("author" in of) list.removeOf(of.author);
    },
    [client, list],
  );
  return { ...useEntries(list), showLess };
}

/** What of a relation decides which posts of an author one may see, whether or not one follows. */
function accessOf(r: Relation): string {
  const how = (r.blocked ? "b" : "") + (r.friend ? "r" : "");
  return how && `${r.user}${how},`;
}

/** A list while it is shown. It is read again when the user blocks somebody, or has other friends: no post may stay that the user may not see any more. */
function useEntries(list: PostEntries): ListedPosts {
  const client = useRialto();
  const online = useOnline();
  const [failed, setFailed] = useState<{ list: PostEntries; error: unknown }>();
  const run = useCallback((work: Promise<void>) => work.then(() => setFailed(undefined), (error: unknown) => setFailed({ list, error })), [list]);
  useEffect(() => client.watchPosts(list), [client, list]);
  const access = useSnapshot((c) => [...c.relations().values()].map(accessOf).join("")); // a text: the map itself changes in place
  /** What the list was read with; nothing if that failed. */
  const read = useRef<{ list: PostEntries; access: string }>(undefined);
  useEffect(() => {
    if (!online || (read.current?.list === list && read.current.access === access)) return;
    const now = { list, access };
    read.current = now;
    void run(list.refresh().catch((err: unknown) => {
      if (read.current === now) read.current = undefined;
      throw err;
    }));
  }, [list, access, online, run]);
  const loadMore = useCallback(() => run(list.more()), [list, run]);
  const refresh = useCallback(() => run(list.refresh()), [list, run]);
  const posts = useSnapshot(() => list.items);
  const gone = useSnapshot(() => list.gone);
  const hasMore = useSnapshot(() => list.hasMore);
  const loaded = useSnapshot(() => list.loaded);
  const error = failed?.list === list ? failed.error : undefined;
  return { posts, gone, loading: !loaded && error === undefined, error, hasMore, loadMore, refresh };
}
