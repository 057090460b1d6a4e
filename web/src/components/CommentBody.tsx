import type { Comment, OutgoingComment, Post } from "@rialto-im/client";
import { useEngagement } from "@rialto-im/client/react";
import { useState, type ReactNode } from "react";
import { Link } from "wouter";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useDownload, type FileOf } from "../download.js";
import { errorText } from "../errors.js";
import { ago, moment } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { useNow } from "../now.js";
import { path } from "../routes.js";
import { Menu, MenuItem } from "../ui/Menu.js";
import { UserAvatar } from "./Avatar.js";
import { EditComment } from "./CommentForm.js";
import { FileImage } from "./FileImage.js";
import { Gallery, keyOf } from "./Gallery.js";
import { ImageIcon } from "./icons.js";
import { LikeButton } from "./PostActions.js";
import { PostText } from "./PostText.js";
import { discard, retry } from "./useCommenting.js";

const sizeOf = (isReply: boolean) => (isReply ? 24 : 32);

/** A comment with what one can do with it, and below it, as children, its thread. */
export function CommentBody({ comment: c, post, onReply, children }: { comment: Comment; post: Post; onReply: (c: Comment) => void; children?: ReactNode }) {
  const client = useClient();
  const t = useText();
  const now = useNow();
  const engagement = useEngagement(c);
  const [editing, setEditing] = useState(false);
  const { run, error } = useAction();
  const isReply = c.top !== "0";
  if (c.deleted) return <article className="comment gone" tabIndex={isReply ? undefined : 0} data-testid="comment" data-id={c.id}><span className="comment-blank" /><div className="comment-main"><p className="muted">{t("commentGone")}</p>{children}</div></article>;
  const who = nameOf(client, c.author);
  const own = c.author === client.me;
  const createdMs = Number(c.createdMs);
  const editedMs = Number(c.editedMs);
  const image = c.content?.image;
  return (
    <article className="comment" tabIndex={isReply ? undefined : 0} aria-label={t(isReply ? "replyBy" : "commentBy", { who })} data-testid="comment" data-id={c.id}>
      <Link href={path.posts(c.author)} tabIndex={-1} aria-hidden="true"><UserAvatar user={c.author} size={sizeOf(isReply)} /></Link>
      <div className="comment-main">
        <header>
          <Link href={path.posts(c.author)} className="post-author"><bdi>{who}</bdi></Link>
          {isReply && c.replyTo !== c.top && <Answers user={c.replyToAuthor} />}
          {c.author === post.author && <span className="comment-mark">{t("postAuthor")}</span>}
        </header>
        {editing ? <EditComment comment={c} onDone={() => setEditing(false)} /> : c.content?.text && <PostText of={c.content} folded />}
        {image && <CommentImage of={{ comment: c.id }} media={image} />}
        <footer>
          <small>
            <time dateTime={new Date(createdMs).toISOString()} title={moment(createdMs, getLocale())}>{ago(createdMs, getLocale(), t, now)}</time>
            {editedMs > 0 && <> · <span title={t("editedAt", { when: moment(editedMs, getLocale()) })}>{t("edited")}</span></>}
          </small>
          <button type="button" className="link" onClick={() => onReply(c)}>{t("reply")}</button>
          <LikeButton engagement={engagement} />
          {(own || post.author === client.me) && (
            <Menu label={t(isReply ? "replyBy" : "commentBy", { who })}>
              {own && <MenuItem label={t("editComment")} onSelect={() => setEditing(true)} />}
              <MenuItem label={t("deleteComment")} sure={t("sureDeleteComment")} onSelect={() => void run(() => client.deleteComment(c))} />
            </Menu>
          )}
        </footer>
        {engagement.error !== undefined && <p className="error" role="alert">{errorText(engagement.error)}</p>}
        {error && <p className="error" role="alert">{error}</p>}
        {children}
      </div>
    </article>
  );
}

/** Whom a reply to a reply answers; nobody where there is a block. */
function Answers({ user }: { user: string }) {
  const client = useClient();
  const t = useText();
  return user === "0" ? null : <small className="comment-answers">{t("answers")} <Link href={path.posts(user)}><bdi>{nameOf(client, user)}</bdi></Link></small>;
}

function CommentImage({ of, media }: { of: FileOf; media: NonNullable<NonNullable<Comment["content"]>["image"]> }) {
  const t = useText();
  const [large, setLarge] = useState(false);
  const file = useDownload(of, media.upload);
  const { url, error, renew } = file;
  const shape = media.width && media.height ? { aspectRatio: `${media.width} / ${media.height}` } : {};
  if (!url) return <span className="post-image comment-image" style={shape} role="img" aria-label={error || t("photo")} title={error}><ImageIcon /></span>;
  return (
    <>
      <button type="button" className="post-image comment-image" style={shape} aria-label={t("openPicture", { name: media.name })} onClick={() => setLarge(true)}><FileImage of={file} alt="" loading="lazy" onError={renew} /></button>
      {large && <Gallery list={[{ of, kind: "image", media, caption: "" }]} first={keyOf(of, media.upload)} onClose={() => setLarge(false)} />}
    </>
  );
}

/** A comment of one's own that is not stored yet. */
export function OutgoingBody({ o }: { o: OutgoingComment }) {
  const client = useClient();
  const t = useText();
  const isReply = o.top !== "0";
  return (
    <article className="comment outgoing" aria-label={t(isReply ? "replyBy" : "commentBy", { who: nameOf(client, client.me) })} aria-busy={!o.failed} data-testid="comment-outgoing">
      <span aria-hidden="true"><UserAvatar user={client.me} size={sizeOf(isReply)} /></span>
      <div className="comment-main">
        <header><b><bdi>{nameOf(client, client.me)}</bdi></b>{isReply && o.replyTo !== o.top && <Answers user={o.replyToAuthor} />}</header>
        {o.content.text && <PostText of={{ text: o.content.text, mentions: [] }} folded />}
        {o.content.image && <small>{t("photo")}</small>}
        <footer>
          {o.failed ? (
            <>
              <small className="error" role="alert">{t("failed", { why: errorText(o.failed) })}</small>
              <button type="button" className="link" onClick={() => retry(o.post, o.key)}>{t("retry")}</button>
              <button type="button" className="link" onClick={() => discard(o.post, o.key)}>{t("discard")}</button>
            </>
          ) : (
            <small role="status">{t("sendingComment")}</small>
          )}
        </footer>
      </div>
    </article>
  );
}
