import type { CommentSorting, Post } from "@rialto-im/client";
import { useCommentCount, useComments } from "@rialto-im/client/react";
import { useState, type ReactNode } from "react";
import { errorText } from "../errors.js";
import { useText, type Key } from "../i18n.js";
import { VirtualList } from "../ui/VirtualList.js";
import "./comment.css";
import { CommentBody, OutgoingBody } from "./CommentBody.js";
import { CommentForm } from "./CommentForm.js";
import { CommentThread } from "./CommentThread.js";
import { useCommenting } from "./useCommenting.js";

const sortings: Record<CommentSorting, Key> = { newest: "newestFirst", oldest: "oldestFirst", likes: "mostLiked" };
const isSorting = (s: string): s is CommentSorting => s in sortings;

/** The comments on a post, below the post, with what one writes there. */
export function PostComments({ post, head }: { post: Post; head: ReactNode }) {
  const t = useText();
  const [sorting, setSorting] = useState<CommentSorting>("newest");
  const c = useComments(post.id, sorting);
  const n = useCommentCount(post);
  const commenting = useCommenting(post.id);
  const failed = c.error !== undefined;
  const outgoing = <>{c.outgoing.map((o) => <OutgoingBody key={o.key} o={o} />)}</>;
  const isEmpty = c.comments.length + c.own.length + c.outgoing.length === 0;
  return (
    <>
      <VirtualList
        className="post-page"
        rows={c.comments}
        keyOf={(comment) => comment.id}
        hasMore={c.hasMore && !failed}
        onEnd={() => void c.loadMore()}
        head={
          <>
            {head}
            <div className="comments-head">
              <h3>{n > 0 ? t("commentCount", { n }) : t("comments")}</h3>
              <label><span className="sr-only">{t("commentSorting")}</span>
                <select value={sorting} onChange={(e) => isSorting(e.target.value) && setSorting(e.target.value)}>
                  {Object.entries(sortings).map(([s, text]) => <option key={s} value={s}>{t(text)}</option>)}
                </select>
              </label>
            </div>
            {sorting !== "oldest" && outgoing}
          </>
        }
        render={(comment) => <CommentThread top={comment} post={post} onReply={commenting.answer} />}
        foot={
          <>
            {c.own.map((comment) => <CommentBody key={comment.id} comment={comment} post={post} onReply={commenting.answer} />)}
            {sorting === "oldest" && outgoing}
            <div className="timeline-end" role="status">
              {failed ? (
                <><p className="error">{t("commentsFailed", { why: errorText(c.error) })}</p><button onClick={() => void c.loadMore()}>{t("retry")}</button></>
              ) : c.loading ? (
                <p>{t("loading")}</p>
              ) : c.hasMore ? (
                <button className="link" onClick={() => void c.loadMore()}>{t("showMore")}</button>
              ) : (
                isEmpty && <p>{t("noComments")}</p>
              )}
            </div>
          </>
        }
      />
      <CommentForm of={commenting} />
    </>
  );
}
