import { useCallback, useEffect, useMemo, useState } from "react";
import type { CommentList, CommentSorting, OutgoingComment } from "../comments.js";
import type { Comment } from "../gen/rialto/comment/v1/comment_pb.js";
import type { Post } from "../gen/rialto/feed/v1/feed_pb.js";
import { useOwner, useRialto, useSnapshot } from "./context.js";
import { useOnline } from "./hooks.js";

export interface Comments {
  readonly comments: readonly Comment[];
  /** Comments that were written here and that belong behind pages that were not read yet. */
  readonly own: readonly Comment[];
  /** Comments that were written here and are not stored yet. */
  readonly outgoing: readonly OutgoingComment[];
  /** The first page is not there yet. */
  readonly loading: boolean;
  /** Why comments could not be read. */
  readonly error: unknown;
  readonly hasMore: boolean;
  /** Reads the next page. */
  readonly loadMore: () => Promise<void>;
}

/** The top comments of a post, with what is done here. They are read again when somebody returns to the page. */
export function useComments(post: string, sorting: CommentSorting): Comments {
  const client = useRialto();
  const owner = useOwner();
  const list = useMemo(() => client.commentsOf(post, sorting), [client, post, sorting, owner]);
  return useCommentList(list, post, "0", true);
}

/** The replies of a thread. They are read when they are wanted for the first time. */
export function useReplies(top: Comment, wanted: boolean): Comments {
  const client = useRialto();
  const owner = useOwner();
  const list = useMemo(() => client.repliesTo(top), [client, top.id, owner]);
  return useCommentList(list, top.subject, top.id, wanted);
}

function useCommentList(list: CommentList, post: string, top: string, wanted: boolean): Comments {
  const client = useRialto();
  const online = useOnline();
  const [failed, setFailed] = useState<{ list: CommentList; error: unknown }>();
  const run = useCallback((work: Promise<void>) => work.then(() => setFailed(undefined), (error: unknown) => setFailed({ list, error })), [list]);
  useEffect(() => client.watchComments(list), [client, list]);
  useEffect(() => client.watchPosts({ changed: () => {}, removed: () => {}, published: () => {}, engaged: (change) => list.engaged(change) }), [client, list]);
  useEffect(() => {
    if (!online || !wanted) return;
    void run(list.loaded ? list.refresh() : list.more());
    const look = () => document.visibilityState !== "hidden" && list.loaded && void run(list.refresh());
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [list, online, wanted, run]);
  const loadMore = useCallback(() => run(list.more()), [list, run]);
  const comments = useSnapshot(() => list.comments);
  const own = useSnapshot(() => list.own);
  const all = useSnapshot((c) => c.outgoingComments(post));
  const outgoing = useMemo(() => all.filter((o) => o.top === top), [all, top]);
  const loaded = useSnapshot(() => list.loaded);
  const hasMore = useSnapshot(() => list.hasMore);
  const error = failed?.list === list ? failed.error : undefined;
  return { comments, own, outgoing, loading: wanted && !loaded && error === undefined, error, hasMore, loadMore };
}

/** How many comments a post has, with what is done here. */
export function useCommentCount(post: Pick<Post, "id" | "comments">): number {
  return useSnapshot((c) => c.commentCount(post));
}
