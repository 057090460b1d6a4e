import { Audience, type Comment, type Post } from "@rialto-im/client";
import { useCommentCount, type Engagement } from "@rialto-im/client/react";
import type { ComponentType } from "react";
import { Link } from "wouter";
import { errorText } from "../errors.js";
import { getLocale, useText, type Key } from "../i18n.js";
import { numbers } from "../intl.js";
import { path } from "../routes.js";
import { IconButton } from "../ui/IconButton.js";
import { Tip } from "../ui/Tip.js";
import { BookmarkIcon, CommentIcon, HeartIcon, RepostIcon, ShareIcon } from "./icons.js";

/** What everybody does with a post. It shows at once. */
export function PostActions({ engagement: e, onDialog }: { engagement: Engagement<Post>; onDialog: (dialog: "repost" | "share") => void }) {
  const t = useText();
  const post = e.shown;
  const comments = useCommentCount(post);
  const label = comments > 0 ? t("commentCount", { n: comments }) : t("comments");
  return (
    <>
      {e.error !== undefined && <p className="error" role="alert">{errorText(e.error)}</p>}
      <footer>
        <LikeButton engagement={e} />
        <Tip label={label}><Link href={path.post(post.id)} className="icon" aria-label={label} data-testid="post-comments"><CommentIcon /><Count n={comments} /></Link></Tip>
        {post.content?.audience === Audience.EVERYONE && <IconButton label={post.reposts > 0 ? `${t("repost")}, ${t("repostCount", { n: post.reposts })}` : t("repost")} onClick={() => onDialog("repost")}><RepostIcon /><Count n={post.reposts} /></IconButton>}
        <Toggle icon={BookmarkIcon} isOn={post.favourited} n={post.favourites} on="unfavourite" off="favourite" counted="favouriteCount" onToggle={e.toggleFavourite} />
        <IconButton label={t("share")} onClick={() => onDialog("share")}><ShareIcon /></IconButton>
      </footer>
    </>
  );
}

/** Likes a post or a comment. */
export function LikeButton<T extends Post | Comment>({ engagement: e }: { engagement: Engagement<T> }) {
  return <Toggle icon={HeartIcon} isOn={e.shown.liked} n={e.shown.likes} on="unlike" off="like" counted="likeCount" onToggle={e.toggleLike} />;
}

interface ToggleProps {
  icon: ComponentType;
  isOn: boolean;
  n: number;
  on: Key;
  off: Key;
  counted: Key;
  onToggle: () => void;
}

/** A button that stays pressed, with how many have pressed it. */
function Toggle({ icon: Icon, isOn, n, on, off, counted, onToggle }: ToggleProps) {
  const t = useText();
  const label = n > 0 ? `${t(off)}, ${t(counted, { n })}` : t(off);
  return <Tip label={t(isOn ? on : off)}><button type="button" className={isOn ? "icon on" : "icon"} aria-pressed={isOn} aria-label={label} onClick={onToggle}><Icon /><Count n={n} /></button></Tip>;
}

/** A count beside an icon, whose label says it. */
function Count({ n }: { n: number }) {
  return n > 0 ? <span aria-hidden="true">{numbers(getLocale(), "short").format(n)}</span> : null;
}
