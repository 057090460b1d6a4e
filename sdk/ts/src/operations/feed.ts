import type { MessageInitShape } from "@bufbuild/protobuf";
import { asError } from "../errors.js";
import type { FeedProfile, ListVersionsResponse, Post, PostContentSchema } from "../gen/rialto/feed/v1/feed_pb.js";
import { PostList, type PostPage, type PostWatcher } from "../posts.js";
import { watchersOf } from "../postWatchers.js";
import { resend } from "../resend.js";
import type { Context } from "./context.js";

export type NewPost = Omit<MessageInitShape<typeof PostContentSchema>, "$typeName">;

/** Reads posts that were said to have changed, one after the other. One that changes while it is read is read again. */
function oneByOne(read: (post: string) => Promise<void>): (posts: readonly string[]) => Promise<void> {
  const due = new Set<string>();
  let reading = false;
  return async (posts) => {
    for (const p of posts) due.add(p);
    if (reading) return;
    reading = true;
    try {
      for (const post of due) {
        due.delete(post);
        await read(post);
      }
    } finally {
      reading = false;
    }
  };
}

/** Posts, the profiles that list them, and the home timeline. */
export function feed(client: Context) {
  const { feedApi } = client.services;
  const watchers = watchersOf(client);
  const { engagements } = watchers;
  const onChange = () => {
    client.shownPosts.update();
    client.snapshots.touch();
  };
  const tell = (what: (w: PostWatcher) => void) => watchers.tell(what);
  const took = (post: Post): Post => {
    tell((w) => w.changed(post));
    return post;
  };
  const page = (read: () => Promise<PostPage>): Promise<PostPage> =>
    engagements.read(read, ({ posts, next }, shown) => ({ posts: posts.map((p) => shown(p)), next }));
  const getPost = async (post: string): Promise<Post> => took(await engagements.read(() => feedApi.getPost({ post }), (p, shown) => shown(p)));
  const readAgain = oneByOne(async (post) => {
    try {
      await getPost(post);
    } catch (err) {
      if (asError(err).reason === "no_post") tell((w) => w.removed(post)); // the next check of the list finds what else failed
    }
  });
  return {
    /**
     * Publishes a post. It is sent again with the same key where the answer is lost. A program that tries again later, after isOffline, passes
     * the key and the content of the first try, and gets the post if that was stored.
     */
    async publishPost(content: NewPost, key: string = crypto.randomUUID()): Promise<Post> {
      const post = await resend(client, () => feedApi.publish({ clientPostId: key, content }));
      tell((w) => w.published());
      return post;
    },

    /** A post. Fails with no_post where there is none that the user may see. */
    getPost,

    /** Replaces the content of one's own post. Fails with version_changed if the post has another version; 0: whatever it is. */
    async editPost(post: string, content: NewPost, version = 0): Promise<Post> {
      return took(await feedApi.editPost({ post, content, version }));
    },

    /** Deletes one's own post, for everybody. */
    async deletePost(post: string): Promise<void> {
      await feedApi.deletePost({ post });
      tell((w) => w.removed(post, true));
    },

    /** One's own posts, and those of the users whom one follows and has not muted. Pass the list to watchPosts while it is shown. */
    homeTimeline(): PostList {
      return new PostList({ read: (before, limit) => page(() => feedApi.homeTimeline({ before, limit })), hasOwn: true, onChange });
    },

    /** The posts of a user. Pass the list to watchPosts while it is shown. */
    postsOf(user: string): PostList {
      return new PostList({ read: (before, limit) => page(() => feedApi.listPosts({ user, before, limit })), hasOwn: user === client.me(), onChange });
    },

    ...reading(client),
    ...watching(client, readAgain),
  };
}

/** Calls that change nothing that is shown. */
function reading({ services: { feedApi } }: Context) {
  return {
    /** A page of what one's own post was, the newest first: that before a version, or with 0 the first page. */
    postVersions(post: string, before = 0): Promise<ListVersionsResponse> {
      return feedApi.listVersions({ post, before });
    },

    /** The counts of a user's profile page. */
    feedProfile(user: string): Promise<FeedProfile> {
      return feedApi.getFeedProfile({ user });
    },
  };
}

/** Keeps what is shown up to date. */
function watching(client: Context, readAgain: (posts: readonly string[]) => Promise<void>) {
  const watchers = watchersOf(client);
  return {
    /**
     * Keeps a list, or anything else, up to date with what is done here, and with what others do to the posts that it shows. Call what is
     * returned to end it.
     */
    watchPosts(watcher: PostWatcher): () => void {
      const stop = watchers.add(watcher);
      const end = client.shownPosts.watch(() => watcher.shown?.() ?? [], (posts) => void readAgain(posts));
      return () => {
        end();
        stop();
      };
    },
  };
}
