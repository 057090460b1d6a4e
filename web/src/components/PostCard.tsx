import { Audience, type Post } from "@rialto-im/client";
import { useState, type KeyboardEvent, type MouseEvent } from "react";
import { useAction, type RunAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { go, path } from "../routes.js";
import { IconButton } from "../ui/IconButton.js";
import { Menu, MenuItem } from "../ui/Menu.js";
import { RepostIcon } from "./icons.js";
import { Byline, PostBody, Reposted } from "./PostBody.js";
import { PostDialog } from "./PostDialog.js";
import { PostHistory } from "./PostHistory.js";

/** A post with what one can do with it. alone: it is not in a list, so all of it is shown. */
export function PostCard({ post, current = false, alone = false, onDeleted }: { post: Post; current?: boolean; alone?: boolean; onDeleted?: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const [dialog, setDialog] = useState<"edit" | "repost" | "history">();
  const close = () => setDialog(undefined);
  /** Opens the post: by a click beside its links and buttons, where no text is being selected, or by Enter. */
  const open = (e: MouseEvent | KeyboardEvent) => {
    const within = e.currentTarget.contains(e.target as Node) && !(e.target as Element).closest("a, button");
    const isMeant = "key" in e ? e.key === "Enter" && e.target === e.currentTarget : within && getSelection()?.isCollapsed !== false;
    if (isMeant) go(path.post(post.id));
  };
  const mayRepost = post.content?.audience === Audience.EVERYONE;
  return (
    <article className={current ? "post current" : "post"} {...(!alone && { tabIndex: 0, onClick: open, onKeyDown: open })} aria-label={t("postOf", { who: nameOf(client, post.author) })} aria-current={current ? "true" : undefined} data-testid="post" data-id={post.id}>
      <header>
        <Byline post={post} onHistory={() => setDialog("history")} />
        <PostMenu post={post} run={run} onDialog={setDialog} onDeleted={onDeleted} />
      </header>
      <PostBody post={post} folded={!alone} />
      {post.content?.repostOf !== "0" && <Reposted post={post.reposted} />}
      {error && <p className="error" role="alert">{error}</p>}
      {mayRepost && <footer><IconButton label={t("repost")} onClick={() => setDialog("repost")}><RepostIcon /></IconButton></footer>}
      {dialog === "edit" && <PostDialog of={{ kind: "edit", post }} onClose={close} />}
      {dialog === "repost" && <PostDialog of={{ kind: "repost", post }} onClose={close} />}
      {dialog === "history" && <PostHistory post={post} onClose={close} />}
    </article>
  );
}

interface MenuProps {
  post: Post;
  run: RunAction;
  onDialog: (dialog: "edit" | "repost" | "history") => void;
  onDeleted?: (() => void) | undefined;
}

function PostMenu({ post, run, onDialog, onDeleted }: MenuProps) {
  const client = useClient();
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
      {!own && <MenuItem label={t(r?.muted ? "unmuteUser" : "muteUser", { who })} onSelect={() => void run(() => client.relate(r?.muted ? graph.unmute({ user }) : graph.mute({ user })))} />}
    </Menu>
  );
}
