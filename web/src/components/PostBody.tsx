import { Audience, type Post } from "@rialto-im/client";
import { Link } from "wouter";
import { useClient } from "../client.js";
import { ago, moment } from "../format.js";
import { getLocale, useText, type Key } from "../i18n.js";
import { isAddress } from "../links.js";
import { nameOf } from "../names.js";
import { useNow } from "../now.js";
import { path } from "../routes.js";
import { UserAvatar } from "./Avatar.js";
import "./feed.css";
import { EyeIcon } from "./icons.js";
import { LinkPreviewCard } from "./LinkPreviewCard.js";
import { PostCover, PostGoods } from "./PostGoods.js";
import { PostImages } from "./PostImages.js";
import { PostText } from "./PostText.js";
import { PostVideo } from "./PostVideo.js";

export const audienceTexts: Record<Audience, Key> = {
  [Audience.UNSPECIFIED]: "audienceEveryone",
  [Audience.EVERYONE]: "audienceEveryone",
  [Audience.FRIENDS]: "audienceFriends",
  [Audience.CHOSEN]: "audienceChosen",
  [Audience.EXCEPT]: "audienceExcept",
};

/** Whose post it is, and since when. */
export function Byline({ post, onHistory }: { post: Post; onHistory?: () => void }) {
  const client = useClient();
  const t = useText();
  const now = useNow();
  const own = post.author === client.me;
  const editedMs = Number(post.editedMs);
  const edited = t("editedAt", { when: moment(editedMs, getLocale()) });
  const audience = post.content?.audience ?? Audience.EVERYONE;
  return (
    <div className="post-by">
      <Link href={path.posts(post.author)} tabIndex={-1} aria-hidden="true"><UserAvatar user={post.author} size={onHistory ? 40 : 24} /></Link>
      <div>
        <Link href={path.posts(post.author)} className="post-author"><bdi>{nameOf(client, post.author)}</bdi></Link>
        <small>
          <Link href={path.post(post.id)} title={moment(Number(post.createdMs), getLocale())}><time dateTime={new Date(Number(post.createdMs)).toISOString()}>{ago(Number(post.createdMs), getLocale(), t, now)}</time></Link>
          {editedMs > 0 && <> · {own && onHistory ? <button type="button" className="link" title={edited} onClick={onHistory}>{t("edited")}</button> : <span title={edited}>{t("edited")}</span>}</>}
          {own && audience !== Audience.EVERYONE && <> · <span className="post-audience"><EyeIcon />{t(audienceTexts[audience])}</span></>}
        </small>
      </div>
    </div>
  );
}

/** What a post says, without what it reposts. */
export function PostBody({ post, folded }: { post: Post; folded: boolean }) {
  const c = post.content;
  if (!c) return null;
  const host = /^https?:/i.test(c.link) && isAddress(c.link) ? new URL(c.link).host : undefined;
  return (
    <>
      {c.video !== "0" ? <PostVideo post={post} /> : c.cover && <PostCover of={{ post: post.id }} media={c.cover} />}
      {c.title && <h3 dir="auto">{c.title}</h3>}
      {c.text && <PostText of={c} folded={folded} />}
      <PostImages post={post} all={!folded} />
      {c.linkPreview ? <LinkPreviewCard p={c.linkPreview} at={{ post: post.id }} /> : host && <a className="post-link" href={c.link} target="_blank" rel="noopener noreferrer nofollow"><b><bdi>{host}</bdi></b> <span>{c.link}</span></a>}
      <PostGoods post={post} />
    </>
  );
}

/** The post that another one shows. */
export function Reposted({ post }: { post: Post | undefined }) {
  const t = useText();
  if (!post) return <p className="reposted gone">{t("repostGone")}</p>;
  return (
    <div className="reposted" data-testid="reposted">
      <Byline post={post} />
      <PostBody post={post} folded />
    </div>
  );
}
