import { ReportedKind, type Post } from "@rialto-im/client";
import { useEngagement } from "@rialto-im/client/react";
import { useRef, useState, type KeyboardEvent, type MouseEvent, type ReactNode } from "react";
import { useAction, type RunAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { cardOf } from "../postCard.js";
import { go, path } from "../routes.js";
import { Menu, MenuItem } from "../ui/Menu.js";
import { LikersButton } from "./Likers.js";
import { PostActions } from "./PostActions.js";
import { Byline, PostBody, Reposted } from "./PostBody.js";
import { PostDialog } from "./PostDialog.js";
import { ShareDialog } from "./ShareCard.js";
import { PostHistory } from "./PostHistory.js";
import { kindNames, reasonText, useRanked } from "./ranked.js";
import { ReportDialog } from "./ReportDialog.js";
import { useViewed } from "./useViewed.js";

interface Props {
  post: Post;
  current?: boolean;
  /** It is not in a list, so all of it is shown. */
  alone?: boolean;
  /** What stands above its author. */
  above?: ReactNode;
  onDeleted?: () => void;
}

/** A post with what one can do with it. */
export function PostCard({ post, current = false, alone = false, above, onDeleted }: Props) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const [dialog, setDialog] = useState<PostDialogs>();
  const close = () => setDialog(undefined);
  const engagement = useEngagement(post);
  const { shown } = engagement;
  const card = useRef<HTMLElement>(null);
  useViewed(card, post.id);
  const ranked = useRanked(post.id);
  /** Opens the post: by a click beside its links and buttons, where no text is being selected, or by Enter. */
  const open = (e: MouseEvent | KeyboardEvent) => {
    const within = e.currentTarget.contains(e.target as Node) && !(e.target as Element).closest("a, button");
    const isMeant = "key" in e ? e.key === "Enter" && e.target === e.currentTarget : within && getSelection()?.isCollapsed !== false;
    if (isMeant) go(path.post(post.id));
  };
  /** Its link, its goods or its video is opened. */
  const openPart = (e: MouseEvent) => {
    if ((e.target as Element).closest("a[target=_blank], .post-video")) client.postOpened(post.id);
  };
  return (
    <article ref={card} onClickCapture={openPart} className={current ? "post current" : "post"} {...(!alone && { tabIndex: 0, onClick: open, onKeyDown: open })} aria-label={t("postOf", { who: nameOf(client, post.author) })} aria-current={current ? "true" : undefined} data-testid="post" data-id={post.id}>
      {above}
      <header>
        <Byline post={post} onHistory={() => setDialog("history")} />
        <PostMenu post={post} run={run} onDialog={setDialog} onDeleted={onDeleted} />
      </header>
      {ranked && <p className="post-why" data-testid="post-why">{reasonText(ranked.reasons, t)}</p>}
      <PostBody post={post} folded={!alone} />
      {post.content?.repostOf !== "0" && <Reposted post={post.reposted} />}
      {error && <p className="error" role="alert">{error}</p>}
      <PostActions engagement={engagement} onDialog={setDialog} />
      {alone && (shown.likes > 0 || shown.views > 0) && <p className="post-counts"><LikersButton of={shown} />{shown.views > 0 && <span>{t("viewCount", { n: shown.views })}</span>}</p>}
      {dialog === "edit" && <PostDialog of={{ kind: "edit", post }} onClose={close} />}
      {dialog === "repost" && <PostDialog of={{ kind: "repost", post }} onClose={close} />}
      {dialog === "share" && <ShareDialog card={cardOf(post, t("postOf", { who: client.user(post.author)?.displayName ?? "" }), location.origin, client.me)} onClose={close} />}
      {dialog === "history" && <PostHistory post={post} onClose={close} />}
      {dialog === "report" && <ReportDialog of={{ kind: ReportedKind.POST, id: post.id }} onClose={close} />}
    </article>
  );
}

type PostDialogs = "edit" | "repost" | "share" | "history" | "report";

interface MenuProps {
  post: Post;
  run: RunAction;
  onDialog: (dialog: PostDialogs) => void;
  onDeleted?: (() => void) | undefined;
}

function PostMenu({ post, run, onDialog, onDeleted }: MenuProps) {
  const client = useClient();
  const ranked = useRanked(post.id);
  const t = useText();
  const who = nameOf(client, post.author);
  const own = post.author === client.me;
  const r = client.relations().get(post.author);
  const user = post.author;
  const { graph } = client;
  const remove = () => run(async () => {
    await client.deletePost(post.id);
    onDeleted?.();
  });
  return (
    <Menu label={t("postOf", { who })}>
      <MenuItem label={t("roomCopyLink")} onSelect={() => void run(() => navigator.clipboard.writeText(location.origin + path.post(post.id)))} />
      {own && <MenuItem label={t("editPost")} onSelect={() => onDialog("edit")} />}
      {own && post.version > 1 && <MenuItem label={t("postHistory")} onSelect={() => onDialog("history")} />}
      {own && <MenuItem label={t("deletePost")} sure={t("sureDeletePost")} onSelect={() => void remove()} />}
      {!own && <MenuItem label={t("profile")} onSelect={() => go(path.posts(user))} />}
      {!own && r?.following && <MenuItem label={t("unfollowUser", { who })} onSelect={() => void run(() => client.relate(graph.unfollow({ user })))} />}
      {ranked && <MenuItem label={t("showLessOf", { who })} onSelect={() => ranked.showLess({ author: user })} />}
      {ranked && <MenuItem label={t("showLessOf", { who: t(kindNames[ranked.kind]) })} onSelect={() => ranked.showLess({ kind: ranked.kind })} />}
      {!own && <MenuItem label={t(r?.muted ? "unmuteUser" : "muteUser", { who })} onSelect={() => void run(() => client.relate(r?.muted ? graph.unmute({ user }) : graph.mute({ user })))} />}
      {!own && !r?.blocked && <MenuItem label={t("blockUser", { who })} sure={t(r?.friend ? "sureBlockFriend" : "sureBlock", { who })} onSelect={() => void run(() => client.relate(graph.block({ user })))} />}
      {!own && <MenuItem label={t("report")} onSelect={() => onDialog("report")} />}
    </Menu>
  );
}
