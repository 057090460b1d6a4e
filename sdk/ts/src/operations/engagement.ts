import type { Comment } from "../gen/rialto/comment/v1/comment_pb.js";
import { HotWindow, LikeKind, type ListLikersResponse, type PostList as PostListMessage } from "../gen/rialto/engagement/v1/engagement_pb.js";
import type { Post } from "../gen/rialto/feed/v1/feed_pb.js";
import { PostEntries, type PostEntry } from "../postEntries.js";
import { watchersOf } from "../postWatchers.js";
import { ViewRecorder } from "../views.js";
import type { Context } from "./context.js";

/** Likes, favourites and views, and the posts that are popular. */
export function engagement(client: Context) {
  return { ...liking(client), ...lists(client), ...views(client) };
}

function liking(client: Context) {
  const { engagementApi } = client.services;
  const { engagements } = watchersOf(client);
  return {
    /**
     * Likes a post or comment, or takes the like back. It shows at once, in all lists that are watched, and is taken back if it fails. Pass the post or comment
     * as it is shown.
     */
    setLiked(of: Post | Comment, liked: boolean): Promise<void> {
      const isPost = of.$typeName === "rialto.feed.v1.Post";
      const request = { kind: isPost ? LikeKind.POST : LikeKind.COMMENT, subject: of.id };
      return engagements.set(isPost ? "post" : "comment", of.id, "liked", of.liked, liked, (wanted) => (wanted ? engagementApi.like(request) : engagementApi.unlike(request)));
    },

    /** Adds a post to the favourites, or removes it. It shows at once, and is taken back if it fails. */
    setFavourited(post: Post, favourited: boolean): Promise<void> {
      return engagements.set("post", post.id, "favourited", post.favourited, favourited, (wanted) => (wanted ? engagementApi.favourite({ post: post.id }) : engagementApi.unfavourite({ post: post.id })));
    },

    /** A post or comment with what the user did with it and the server does not have yet. */
    withPending<T extends Post | Comment>(of: T): T {
      return engagements.shown(of);
    },

    /** A page of who likes a post or comment, the latest first. */
    likers(of: Post | Comment, page = ""): Promise<ListLikersResponse> {
      return engagementApi.listLikers({ kind: of.$typeName === "rialto.feed.v1.Post" ? LikeKind.POST : LikeKind.COMMENT, subject: of.id, page });
    },
  };
}

/** A list of posts that are not sorted by age, with what the user did with them. */
export function entriesOf(client: Context, read: (page: string) => Promise<{ posts: PostEntry[]; next: string }>): PostEntries {
  const { engagements } = watchersOf(client);
  return new PostEntries(
    (page) =>
      engagements.read(
        async () => {
          const { posts, next } = await read(page);
          return { items: posts, next };
        },
        ({ items, next }, shown) => ({ items: items.map((e) => ({ ...e, post: shown(e.post) })), next }),
      ),
    () => {
      client.shownPosts.update();
      client.snapshots.touch();
    },
  );
}

function lists(client: Context) {
  const { engagementApi } = client.services;
  const entries = (read: (page: string) => Promise<{ posts: PostEntry[]; next: string }>): PostEntries => entriesOf(client, read);
  const listed = async (page: Promise<PostListMessage>) => {
    const { posts, next } = await page;
    return { posts: posts.filter(hasPost).map(({ post, timeMs }) => ({ post, timeMs: Number(timeMs), likesOfPeriod: 0 })), next };
  };
  return {
    /** The posts that the user likes, the latest like first. */
    likedPosts: (): PostEntries => entries((page) => listed(engagementApi.listLikes({ page }))),

    /** The user's favourites, the latest first. */
    favourites: (): PostEntries => entries((page) => listed(engagementApi.listFavourites({ page }))),

    /** The posts that the user has viewed, the latest view first. */
    viewedPosts: (): PostEntries => entries((page) => listed(engagementApi.listViews({ page }))),

    /** The posts that are popular now, or got the most likes today or this week. */
    hotPosts(window: "now" | "today" | "week"): PostEntries {
      const of = { now: HotWindow.NOW, today: HotWindow.TODAY, week: HotWindow.WEEK }[window];
      return entries(async (page) => {
        const r = await engagementApi.listHotPosts({ window: of, page });
        return { posts: r.posts.filter(hasPost).map(({ post, likes }) => ({ post, timeMs: 0, likesOfPeriod: likes })), next: r.next };
      });
    },
  };
}

function views(client: Context) {
  const { engagementApi } = client.services;
  let viewer = "";
  const recorder = new ViewRecorder((posts) => engagementApi.recordViews({ posts }));
  const ofUser = (): ViewRecorder => {
    if (viewer !== client.me()) recorder.forget();
    viewer = client.me();
    return recorder;
  };
  return {
    /** A post was on the screen. Such posts are recorded some seconds later, together. */
    viewed(post: string): void {
      if (client.me() !== "") ofUser().viewed(post);
    },

    /** Records at once the posts that were on the screen, as before the page is left. */
    recordViews(): Promise<void> {
      return ofUser().flush();
    },

    /** Deletes the user's view history. */
    async clearViews(): Promise<void> {
      ofUser().forget();
      await engagementApi.clearViews({});
    },
  };
}

export function hasPost<T extends { post?: Post }>(e: T): e is T & { post: Post } {
  return e.post !== undefined;
}
