import type { Posts } from "@rialto-im/client/react";
import { useEffect, useRef, type ReactNode } from "react";
import { useClient } from "../client.js";
import { errorText } from "../errors.js";
import { useText, type Key } from "../i18n.js";
import { VirtualList, type VirtualListHandle } from "../ui/VirtualList.js";
import "./feed.css";
import { UpIcon } from "./icons.js";
import { PostCard } from "./PostCard.js";

interface Props {
  posts: Posts;
  empty: Key;
  /** What is said below the last post. */
  end?: Key;
  current?: string | undefined;
  head?: ReactNode;
  /** What a post has above its author, by its place in the list. */
  above?: (at: number) => ReactNode;
}

/** A list of posts in pages. New ones wait behind a button, so that what one reads keeps its place. */
export function PostTimeline({ posts: p, empty, end = "allPosts", current, head, above }: Props) {
  const t = useText();
  const list = useRef<VirtualListHandle>(null);
  const showNew = async () => {
    await p.showNew();
    list.current?.focus(0);
  };
  // One's own new post is shown to its author.
  const { me } = useClient();
  const top = p.posts[0];
  const before = useRef<string>(undefined);
  useEffect(() => {
    if (before.current !== undefined && top?.author === me) list.current?.toTop();
    before.current = top?.id;
  }, [top?.id]);
  const failed = p.error !== undefined;
  return (
    <div className={head ? "timeline with-head" : "timeline"} aria-busy={p.loading}>
      <div role="status" className="new-posts">
        {p.fresh > 0 && <button className="primary small" onClick={() => void showNew()} data-testid="new-posts"><UpIcon />{p.hasMoreFresh ? t("manyNewPosts") : t("newPosts", { n: p.fresh })}</button>}
      </div>
      <VirtualList
        ref={list}
        className="timeline-list"
        rows={p.posts}
        keyOf={(post) => post.id}
        hasMore={p.hasMore && !failed}
        onEnd={() => void p.loadMore()}
        head={head}
        render={(post, at) => (p.gone.has(post.id) ? <article className="post gone" tabIndex={0} data-testid="post-gone">{t("postGone")}</article> : <PostCard post={post} current={post.id === current} above={above?.(at)} />)}
        foot={
          <div className="timeline-end" role="status">
            {failed ? (
              <><p className="error">{t("postsFailed", { why: errorText(p.error) })}</p><button onClick={() => void p.loadMore()}>{t("retry")}</button></>
            ) : p.loading ? (
              <p>{t("loading")}</p>
            ) : p.hasMore ? (
              <button className="link" onClick={() => void p.loadMore()}>{t("showMore")}</button>
            ) : (
              <p>{t(p.posts.length === 0 ? empty : end)}</p>
            )}
          </div>
        }
      />
    </div>
  );
}
