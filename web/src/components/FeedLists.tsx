import { useFavourites, useHotPosts, useLikedPosts, useViewedPosts } from "@rialto-im/client/react";
import { useEffect, useState } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { when } from "../format.js";
import { periodStart } from "../hotPeriod.js";
import { getLocale, useText, type Key } from "../i18n.js";
import { useNow } from "../now.js";
import type { FeedList } from "../routes.js";
import { Confirm } from "../ui/Confirm.js";
import { ForYou } from "./ForYou.js";
import { postsOf } from "./listedPosts.js";
import { OwnVideos } from "./OwnVideos.js";
import { PostTimeline } from "./PostTimeline.js";
import { WatchedVideos } from "./WatchedVideos.js";

/** One of the lists beside the home timeline. */
export function ListedFeed({ list, current }: { list: FeedList; current: string | undefined }) {
  switch (list) {
    case "foryou":
      return <ForYou current={current} />;
    case "hot":
      return <Hot current={current} />;
    case "liked":
      return <Liked current={current} />;
    case "favourites":
      return <Favourites current={current} />;
    case "videos":
      return <OwnVideos />;
    case "watched":
      return <WatchedVideos />;
    default:
      return <History current={current} />;
  }
}

const windows = { now: "hotNow", today: "hotToday", week: "hotWeek" } as const satisfies Record<string, Key>;
type HotWindow = keyof typeof windows;

/** The posts that are popular now, or got the most likes today or this week, with their ranks. */
function Hot({ current }: { current: string | undefined }) {
  const t = useText();
  const [window, setWindow] = useState<HotWindow>("now");
  const now = useNow();
  const hot = useHotPosts(window);
  const rank = (at: number) => <Rank at={at} likes={hot.posts[at]?.likesOfPeriod ?? 0} of={window} />;
  return (
    <>
      <div className="filters feed-windows" role="group" aria-label={t("hotPeriod")}>
        {(Object.keys(windows) as HotWindow[]).map((w) => <button key={w} className="chip" aria-pressed={w === window} onClick={() => setWindow(w)}>{t(windows[w])}</button>)}
        {window !== "now" && <small>{t("hotSince", { when: when(periodStart(window, now), getLocale(), now) })}</small>}
      </div>
      <PostTimeline key={window} posts={postsOf(hot)} empty="noHot" current={current} above={rank} />
    </>
  );
}

/** The place of a popular post, and how many likes it got in the period. */
function Rank({ at, likes, of }: { at: number; likes: number; of: HotWindow }) {
  const t = useText();
  return (
    <p className="post-rank" data-testid="post-rank">
      <b className={at < 3 ? "first" : undefined}>{t("rank", { n: at + 1 })}</b>
      {of !== "now" && likes > 0 && <span>{t(of === "today" ? "likesToday" : "likesWeek", { n: likes })}</span>}
    </p>
  );
}

function Liked({ current }: { current: string | undefined }) {
  return <PostTimeline posts={postsOf(useLikedPosts())} empty="noLiked" current={current} />;
}

function Favourites({ current }: { current: string | undefined }) {
  return <PostTimeline posts={postsOf(useFavourites())} empty="noFavourites" current={current} />;
}

/** The posts that one has viewed: also those of a moment ago. */
function History({ current }: { current: string | undefined }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const posts = useViewedPosts();
  const { refresh } = posts;
  useEffect(() => void client.recordViews().then(refresh, () => {}), [client, refresh]); // what was read before stays
  const clear = () => run(async () => {
    await client.clearViews();
    await refresh();
  });
  return (
    <>
      {error && <p className="error" role="alert">{error}</p>}
      {posts.posts.length > 0 && <div className="feed-windows"><Confirm label={t("clearViews")} question={t("sureClearViews")} onYes={() => void clear()} /></div>}
      <PostTimeline posts={postsOf(posts)} empty="noViews" current={current} />
    </>
  );
}
