import { useHomeTimeline } from "@rialto-im/client/react";
import { useState } from "react";
import { Link } from "wouter";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { path } from "../routes.js";
import { Tip } from "../ui/Tip.js";
import "./feed.css";
import { PersonIcon } from "./icons.js";
import { PostDialog } from "./PostDialog.js";
import { PostTimeline } from "./PostTimeline.js";

/** The home timeline: one's own posts, and those of the people whom one follows. current: the post that is open beside it. */
export function Feed({ current }: { current?: string | undefined }) {
  const client = useClient();
  const t = useText();
  const posts = useHomeTimeline();
  const [writing, setWriting] = useState(false);
  return (
    <section className="pane-list feed" aria-label={t("feed")}>
      <header className="feed-head">
        <h2>{t("feed")}</h2>
        <Tip label={t("myPosts")}><Link href={path.posts(client.me)} className="icon" aria-label={t("myPosts")}><PersonIcon /></Link></Tip>
        <button className="primary small" onClick={() => setWriting(true)}>{t("newPost")}</button>
      </header>
      <PostTimeline posts={posts} empty="noPosts" current={current} />
      {writing && <PostDialog of={{ kind: "new" }} onClose={() => setWriting(false)} />}
    </section>
  );
}
