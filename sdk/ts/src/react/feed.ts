import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { withEngagement } from "../engagements.js";
import type { FeedProfile, Post } from "../gen/rialto/feed/v1/feed_pb.js";
import type { Relation } from "../model.js";
import { shownOf, withChanged, withoutReposted, type PostList } from "../posts.js";
import { useOwner, useRialto, useSnapshot } from "./context.js";
import { useOnline } from "./hooks.js";

/** How often the newest posts are read while a list is shown, where nothing tells of them. */
const checkEveryMs = 30_000;
/** So long after it is told of new posts, a list reads them: with those that follow at once. */
const afterHintMs = 1_000;

export interface Posts {
  readonly posts: readonly Post[];
  /** Posts of the list that the user may not see any more. */
  readonly gone: ReadonlySet<string>;
  /** How many new posts wait for showNew. */
  readonly fresh: number;
  /** There are more new posts than were counted. */
  readonly hasMoreFresh: boolean;
  /** The first page is not there yet. */
  readonly loading: boolean;
  /** Why posts could not be read. */
  readonly error: unknown;
  readonly hasMore: boolean;
  /** Reads the next page. */
  readonly loadMore: () => Promise<void>;
  /** Puts the new posts on top. */
  readonly showNew: () => Promise<void>;
}

/** The home timeline, with new posts while it is shown. Whom one follows, mutes or blocks shows at once. */
export function useHomeTimeline(): Posts {
  const client = useRialto();
  const owner = useOwner();
  const list = useMemo(() => client.homeTimeline(), [client, owner]);
  return usePostList(list, useSnapshot((c) => [...c.relations().values()].map(visibility).join(""))); // a text: the map itself changes in place
}

/** The posts of a user, with new ones while they are shown. */
export function usePosts(user: string): Posts {
  const client = useRialto();
  const owner = useOwner();
  const list = useMemo(() => client.postsOf(user), [client, user, owner]);
  return usePostList(list, useSnapshot((c) => visibility(c.relations().get(user))), user);
}

/** What of a relation decides which posts one sees. */
function visibility(r: Relation | undefined): string {
  if (!r) return "";
  const how = (r.following ? "f" : "") + (r.muted ? "m" : "") + (r.blocked ? "b" : "") + (r.friend ? "r" : "");
  return how && `${r.user}${how},`;
}

/** A list while it is shown, of all authors or of one. It is read again when visible is another one. */
function usePostList(list: PostList, visible: string, author?: string): Posts {
  const client = useRialto();
  const online = useOnline();
  const [failed, setFailed] = useState<{ list: PostList; error: unknown }>();
  const run = useCallback((work: Promise<void>) => work.then(() => setFailed(undefined), (error: unknown) => setFailed({ list, error })), [list]);
  useEffect(() => client.watchPosts(list), [client, list]);
  /** What the list was read with: undefined of visible, if that failed. */
  const read = useRef<{ list: PostList; visible: string | undefined }>(undefined);
  useEffect(() => {
    if (!online) return;
    const isChange = read.current?.list === list && read.current.visible !== visible;
    read.current = { list, visible };
    void run((isChange ? list.refresh() : list.check()).catch((err: unknown) => {
      if (read.current?.list === list) read.current.visible = undefined;
      throw err;
    }));
  }, [list, visible, online, run]);
  useEffect(() => {
    if (!online) return;
    const check = () => document.visibilityState !== "hidden" && list.loaded && void run(list.check());
    let soon: ReturnType<typeof setTimeout> | undefined;
    const stopHints = client.on("posts", (posts) => {
      if (soon !== undefined || (author !== undefined && !posts.some((p) => p.author === author))) return;
      soon = setTimeout(() => {
        soon = undefined;
        check();
      }, afterHintMs);
    });
    const timer = setInterval(check, checkEveryMs);
    document.addEventListener("visibilitychange", check);
    return () => {
      stopHints();
      clearTimeout(soon);
      clearInterval(timer);
      document.removeEventListener("visibilitychange", check);
    };
  }, [client, list, online, author, run]);
  const loadMore = useCallback(() => run(list.more()), [list, run]);
  const showNew = useCallback(() => run(list.showNew()), [list, run]);
  const posts = useSnapshot(() => list.posts);
  const gone = useSnapshot(() => list.gone);
  const fresh = useSnapshot(() => list.fresh.length);
  const hasMoreFresh = useSnapshot(() => list.hasMoreFresh);
  const hasMore = useSnapshot(() => list.hasMore);
  const loaded = useSnapshot(() => list.loaded);
  const error = failed?.list === list ? failed.error : undefined;
  return { posts, gone, fresh, hasMoreFresh, loading: !loaded && error === undefined, error, hasMore, loadMore, showNew };
}

export interface ReadPost {
  /** Undefined while it is being read, after it failed, and after it was deleted. */
  readonly post: Post | undefined;
  /** Why it could not be read. */
  readonly error: unknown;
  readonly deleted: boolean;
}

/** One post, read when it is shown, and with what is changed here. */
export function usePost(id: string): ReadPost {
  const client = useRialto();
  const online = useOnline();
  const [read, setRead] = useState<{ id: string; post?: Post; error?: unknown; deleted?: boolean }>({ id });
  const watched = shownOf(read.id === id && read.post ? [read.post] : []);
  const versions = watched.map((p) => `${p.id}:${p.version}`).join();
  useEffect(() => client.watchPosts({
    changed: (post) => setRead((r) => (post.id === id ? { id, post } : r.id === id && r.post ? { ...r, post: withChanged(r.post, post) } : r)),
    removed: (post) => setRead((r) => (post === id ? { id, deleted: true } : r.id === id && r.post ? { ...r, post: withoutReposted(r.post, post) } : r)),
    published: () => {},
    shown: () => watched,
    engaged: (change) => setRead((r) => (r.id === id && r.post ? { ...r, post: withEngagement(r.post, change) } : r)),
  }), [client, id, versions]);
  useEffect(() => {
    if (!online) return;
    let current = true;
    client.getPost(id).then(
      (post) => current && setRead({ id, post }),
      (error: unknown) => current && setRead({ id, error }),
    );
    return () => void (current = false);
  }, [client, id, online]);
  const { post, error, deleted = false } = read.id === id ? read : { post: undefined, error: undefined };
  return { post, error, deleted };
}

/** The counts of a user's profile page, read again when the user follows or publishes. Undefined until they are known. */
export function useFeedProfile(user: string): FeedProfile | undefined {
  const client = useRialto();
  const online = useOnline();
  const [read, setRead] = useState<{ user: string; profile: FeedProfile }>();
  const [version, setVersion] = useState(0);
  const following = useSnapshot((c) => (user === c.me ? [...c.relations().values()].filter((r) => r.following).length : (c.relations().get(user)?.following ?? false)));
  useEffect(() => {
    const again = () => setVersion((v) => v + 1);
    return client.watchPosts({ changed: () => {}, removed: again, published: again });
  }, [client]);
  useEffect(() => {
    if (!online) return;
    let current = true;
    client.feedProfile(user).then((profile) => current && setRead({ user, profile }), () => {}); // what is known stays
    return () => void (current = false);
  }, [client, user, online, version, following]);
  return read?.user === user ? read.profile : undefined;
}
