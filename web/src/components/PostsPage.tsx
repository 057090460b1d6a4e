import { useFeedProfile, usePosts, usePostSubscription } from "@rialto-im/client/react";
import { Link } from "wouter";
import { useAction, type RunAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { goUp, path } from "../routes.js";
import { IconButton } from "../ui/IconButton.js";
import { UserAvatar } from "./Avatar.js";
import "./feed.css";
import { BackIcon, BellIcon } from "./icons.js";
import { ShareCard } from "./ShareCard.js";
import { Who } from "./InfoPanel.js";
import { PostTimeline } from "./PostTimeline.js";
import { useNamedUser } from "./useNamedUser.js";

/** The posts of a person, given by their handle or id, below who they are. */
export function PostsPage({ who }: { who: string }) {
  const client = useClient();
  const t = useText();
  const { error, setError } = useAction();
  const user = useNamedUser(who, setError);
  const name = user ? nameOf(client, user) : t("profile");
  return (
    <main className="chat" aria-label={name}>
      <header className="chat-head">
        <IconButton label={t("back")} className="back" onClick={goUp}><BackIcon /></IconButton>
        <div className="chat-title"><h2><bdi>{name}</bdi></h2></div>
      </header>
      {error && <p className="error" role="alert">{error}</p>}
      {user ? <UserPosts user={user} /> : <p className="empty" role="status">{t(error || user === "" ? "nobody" : "loading")}</p>}
    </main>
  );
}

function UserPosts({ user }: { user: string }) {
  const posts = usePosts(user);
  return <PostTimeline posts={posts} empty="noPostsOf" head={<Profile user={user} />} />;
}

/** Who somebody is, with their counts, and how one stands with them. */
function Profile({ user }: { user: string }) {
  const client = useClient();
  const t = useText();
  const { run, busy, error } = useAction();
  const profile = useFeedProfile(user);
  const r = client.relations().get(user);
  const who = nameOf(client, user);
  const name = client.user(user)?.displayName ?? ""; // a remark is for oneself
  const { graph } = client;
  return (
    <div className="feed-profile" data-testid="feed-profile">
      <UserAvatar user={user} size={72} presence />
      <h3><bdi>{who}</bdi></h3>
      <Who user={user} />
      {profile && <p className="feed-counts"><span>{t("postCount", { n: profile.posts })}</span><span>{t("followers", { n: profile.followers })}</span><span>{t("followingCount", { n: profile.following })}</span></p>}
      {user !== client.me && (
        <div className="buttons">
          {!r?.blocked && <button className={r?.following ? "" : "primary small"} disabled={busy} onClick={() => void run(() => client.relate(r?.following ? graph.unfollow({ user }) : graph.follow({ user })))}>{t(r?.following ? "unfollow" : "follow")}</button>}
          <button disabled={busy} onClick={() => void run(() => client.relate(r?.muted ? graph.unmute({ user }) : graph.mute({ user })))}>{t(r?.muted ? "unmutePosts" : "mutePosts")}</button>
          {!r?.blocked && <SubscriptionButton user={user} run={run} busy={busy} />}
          <Link href={path.user(user)} className="button">{t("profile")}</Link>
          {name && <ShareCard card={{ title: name, user }} />}
        </div>
      )}
      {user === client.me && name && <div className="buttons"><ShareCard card={{ title: name, user }} /></div>}
      {r?.muted && <p className="muted">{t("mutedUser")}</p>}
      {error && <p className="error" role="alert">{error}</p>}
    </div>
  );
}

/** A bell that is pressed while new posts of a person notify one. */
function SubscriptionButton({ user, run, busy }: { user: string; run: RunAction; busy: boolean }) {
  const t = useText();
  const { value, change } = usePostSubscription(user);
  return (
    <IconButton label={t(value ? "notifyPostsEnd" : "notifyPosts")} className={value ? "current" : ""} disabled={busy || value === undefined} onClick={() => void run(() => change(!value))}>
      <BellIcon />
    </IconButton>
  );
}
