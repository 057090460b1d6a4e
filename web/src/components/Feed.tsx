import { useHomeTimeline } from "@rialto-im/client/react";
import { useEffect, useRef, useState } from "react";
import { Link } from "wouter";
import { useClient } from "../client.js";
import { useText, type Key } from "../i18n.js";
import { feedLists, path, type FeedList } from "../routes.js";
import { Tip } from "../ui/Tip.js";
import "./feed.css";
import { ListedFeed } from "./FeedLists.js";
import { PersonIcon } from "./icons.js";
import { PostDialog } from "./PostDialog.js";
import { PostTimeline } from "./PostTimeline.js";

const names: Record<FeedList, Key> = { foryou: "forYou", hot: "hot", liked: "liked", favourites: "favourites", history: "viewHistory", watched: "watchedVideos", videos: "myVideos" };

interface Props {
  /** The list that is open; the home timeline without one. */
  list?: FeedList | undefined;
  /** Something is open beside the list, and the post that is. */
  beside: boolean;
  current?: string | undefined;
}

/** The home timeline, and the lists beside it. What is opened of a list stays beside that list. */
export function Feed({ list, beside, current }: Props) {
  const client = useClient();
  const t = useText();
  const [writing, setWriting] = useState(false);
  const last = useRef(list);
  if (!beside) last.current = list;
  const shown = last.current;
  const lists = useRef<HTMLElement>(null);
  useEffect(() => {
    lists.current?.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" }); // a phone shows not all of them
  }, [shown]);
  return (
    <section className="pane-list feed" aria-label={t("feed")}>
      <header className="feed-head">
        <h2>{t("feed")}</h2>
        <Tip label={t("myPosts")}><Link href={path.posts(client.me)} className="icon" aria-label={t("myPosts")}><PersonIcon /></Link></Tip>
        <button className="primary small" onClick={() => setWriting(true)}>{t("newPost")}</button>
      </header>
      <nav ref={lists} className="filters feed-lists" aria-label={t("postLists")}>
        <Link href={path.feed} className="chip" aria-current={shown === undefined ? "page" : undefined}>{t("following")}</Link>
        {feedLists.map((l) => <Link key={l} href={path.feedList(l)} className="chip" aria-current={shown === l ? "page" : undefined}>{t(names[l])}</Link>)}
      </nav>
      {shown ? <ListedFeed list={shown} current={current} /> : <Home current={current} />}
      {writing && <PostDialog of={{ kind: "new" }} onClose={() => setWriting(false)} />}
    </section>
  );
}

/** The home timeline: one's own posts, and those of the people whom one follows. */
function Home({ current }: { current: string | undefined }) {
  return <PostTimeline posts={useHomeTimeline()} empty="noPosts" current={current} />;
}
