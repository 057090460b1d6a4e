import type { Comment, Post } from "@rialto-im/client";
import { useReplies } from "@rialto-im/client/react";
import { useEffect, useState } from "react";
import { errorText } from "../errors.js";
import { useText } from "../i18n.js";
import { CommentBody, OutgoingBody } from "./CommentBody.js";

/** A comment with its replies, which are read when they are asked for, or when one replies. */
export function CommentThread({ top, post, onReply }: { top: Comment; post: Post; onReply: (c: Comment) => void }) {
  const t = useText();
  const [open, setOpen] = useState(false);
  const r = useReplies(top, open);
  const written = r.outgoing.length + r.own.length;
  useEffect(() => {
    if (written > 0) setOpen(true);
  }, [written]);
  return (
    <CommentBody comment={top} post={post} onReply={onReply}>
      {top.replies > 0 && <button type="button" className="link" aria-expanded={open} onClick={() => setOpen(!open)}>{t(open ? "hideReplies" : "showReplies", { n: top.replies })}</button>}
      {open && (
        <>
          <ul className="replies" aria-busy={r.loading}>
            {r.comments.map((c) => <li key={c.id}><CommentBody comment={c} post={post} onReply={onReply} /></li>)}
          </ul>
          {r.loading && <p role="status" className="muted">{t("loading")}</p>}
          {r.error !== undefined && <p className="error" role="alert">{errorText(r.error)} <button type="button" className="link" onClick={() => void r.loadMore()}>{t("retry")}</button></p>}
          {r.hasMore && r.error === undefined && <button type="button" className="link" onClick={() => void r.loadMore()}>{t("moreReplies")}</button>}
          {written > 0 && (
            <ul className="replies">
              {r.own.map((c) => <li key={c.id}><CommentBody comment={c} post={post} onReply={onReply} /></li>)}
              {r.outgoing.map((o) => <li key={o.key}><OutgoingBody o={o} /></li>)}
            </ul>
          )}
        </>
      )}
    </CommentBody>
  );
}
