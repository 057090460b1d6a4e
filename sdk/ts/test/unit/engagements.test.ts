import { create } from "@bufbuild/protobuf";
import { expect, test, vi } from "vitest";
import { RialtoError } from "../../src/errors.js";
import { CommentSchema } from "../../src/gen/rialto/comment/v1/comment_pb.js";
import { HotWindow, LikeKind } from "../../src/gen/rialto/engagement/v1/engagement_pb.js";
import { PostContentSchema, PostSchema, type Post } from "../../src/gen/rialto/feed/v1/feed_pb.js";
import type { Context } from "../../src/operations/context.js";
import { engagement } from "../../src/operations/engagement.js";
import { PageList } from "../../src/pagedList.js";
import { ShownPosts } from "../../src/shown.js";
import { feed } from "../../src/operations/feed.js";
import { ViewRecorder } from "../../src/views.js";

const post = (id: string, fields: Partial<Post> = {}) => create(PostSchema, { id, author: "8", version: 1, content: create(PostContentSchema, { text: id }), ...fields } as object);

/** A server whose answers wait until the test gives them. */
class Server {
  calls: string[] = [];
  posts: Post[] = [post("30", { likes: 2 }), post("20")];
  me = "7";
  private readonly waiting: { resolve: () => void; reject: (err: unknown) => void }[] = [];
  private readonly api = new Proxy(
    {},
    {
      get: (_, name: string) => async (q: Record<string, unknown>) => {
        this.calls.push([name, ...Object.values(q)].join(" "));
        if (name === "homeTimeline") return { posts: [...this.posts], next: "0" };
        if (name === "getPost") {
          const found = this.posts.find((p) => p.id === q.post);
          if (!found) throw new RialtoError("not_found", "gone", "no_post");
          return found;
        }
        if (name === "listHotPosts") return q.page === "" ? { posts: [], next: "a" } : { posts: this.posts.map((p) => ({ post: p, likes: 3 })), next: "" };
        if (name.startsWith("list")) return q.page === "" ? { posts: [{ post: this.posts[0], timeMs: 5n }], next: "a" } : { posts: this.posts.map((p) => ({ post: p, timeMs: 4n })), next: "" };
        await new Promise<void>((resolve, reject) => this.waiting.push({ resolve, reject }));
        return {};
      },
    },
  );
  readonly watched: string[][] = [];
  readonly shownPosts = new ShownPosts((posts) => this.watched.push(posts.map((p) => p.post)));
  private readonly context = { services: { feedApi: this.api, engagementApi: this.api }, options: { random: () => 0 }, snapshots: { touch: () => {} }, shownPosts: this.shownPosts, me: () => this.me } as unknown as Context;
  readonly client = { ...feed(this.context), ...engagement(this.context) };

  async answer(err?: unknown): Promise<void> {
    await vi.waitFor(() => expect(this.waiting.length).toBeGreaterThan(0));
    const next = this.waiting.shift()!;
    if (err) next.reject(err);
    else next.resolve();
    await Promise.resolve();
  }
}

const shown = (p: Post | undefined) => `${p?.liked ? "liked " : ""}${p?.favourited ? "favourited " : ""}${p?.likes} ${p?.favourites}`;

test("a like shows at once, in lists, reposts and what is read meanwhile, and once after the answer", async () => {
  const s = new Server();
  s.posts.push(post("10", { reposted: s.posts[0]! }));
  const list = s.client.homeTimeline();
  s.client.watchPosts(list);
  await list.refresh();
  const done = s.client.setLiked(list.posts[0]!, true);
  expect(list.posts.map(shown)).toEqual(["liked 3 0", "0 0", "0 0"]);
  expect(shown(list.posts[2]!.reposted)).toBe("liked 3 0");
  await list.refresh(); // the server has no answer yet
  expect(shown(list.posts[0])).toBe("liked 3 0");
  expect(shown(list.posts[2]!.reposted)).toBe("liked 3 0");
  await s.answer();
  await done;
  expect(shown(list.posts[0])).toBe("liked 3 0");
  s.posts[0] = post("30", { likes: 9, liked: true });
  await list.refresh(); // what the server says counts again
  expect(shown(list.posts[0])).toBe("liked 9 0");
  expect(s.calls.filter((c) => c.startsWith("like"))).toEqual([`like ${LikeKind.POST} 30`]);
});

test("a post that the server says has changed, and one that a list shows as a repost, keep a like that is under way", async () => {
  const s = new Server();
  s.posts.push(post("10", { reposted: s.posts[0]! }));
  const told: string[] = [];
  s.client.watchPosts({ shown: () => s.posts, changed: (p) => told.push(`${p.id} ${shown(p.reposted ?? p)}`), removed: () => {}, published: () => {} });
  const done = s.client.setLiked(s.posts[0]!, true);
  s.shownPosts.take(["30", "10"]);
  await vi.waitFor(() => expect(told).toEqual(["30 liked 3 0", "10 liked 3 0"]));
  const hot = s.client.hotPosts("now");
  await hot.more();
  expect(hot.items.map((e) => shown(e.post.reposted ?? e.post))).toEqual(["liked 3 0", "0 0", "liked 3 0"]);
  await s.answer();
  await done;
});

test("a refused like is taken back, and the call fails", async () => {
  const s = new Server();
  const list = s.client.homeTimeline();
  s.client.watchPosts(list);
  await list.refresh();
  const liked = s.client.setLiked(list.posts[0]!, true);
  const favourited = s.client.setFavourited(list.posts[0]!, true);
  expect(shown(list.posts[0])).toBe("liked favourited 3 1");
  await s.answer(new RialtoError("not_found", "gone", "no_post"));
  await expect(liked).rejects.toMatchObject({ reason: "no_post" });
  expect(shown(list.posts[0])).toBe("favourited 2 1");
  await s.answer();
  await favourited;
  expect(shown(list.posts[0])).toBe("favourited 2 1");
});

test("of several changes of a like, the first call ends, and then the last one is made", async () => {
  const s = new Server();
  const list = s.client.homeTimeline();
  s.client.watchPosts(list);
  await list.refresh();
  const first = s.client.setLiked(list.posts[0]!, true);
  for (const liked of [false, true, false]) void s.client.setLiked(list.posts[0]!, liked);
  expect(shown(list.posts[0])).toBe("2 0");
  await s.answer();
  await s.answer();
  await first;
  expect(s.calls.slice(1)).toEqual([`like ${LikeKind.POST} 30`, `unlike ${LikeKind.POST} 30`]);
  expect(shown(list.posts[0])).toBe("2 0");
});

test("comments are liked too, and show what the server does not have yet", async () => {
  const s = new Server();
  const comment = create(CommentSchema, { id: "30", likes: 1 });
  const done = s.client.setLiked(comment, true);
  expect(s.client.withPending(comment)).toMatchObject({ liked: true, likes: 2 });
  expect(s.client.withPending(post("30"))).toMatchObject({ liked: false, likes: 0 });
  await s.answer();
  await done;
  expect(s.calls).toEqual([`like ${LikeKind.COMMENT} 30`]);
});

test("a post that was edited here shows the counts that are read later", async () => {
  const s = new Server();
  const list = s.client.homeTimeline();
  s.client.watchPosts(list);
  await list.refresh();
  await s.client.getPost("30");
  s.posts[0] = post("30", { likes: 5, comments: 4 });
  await list.refresh();
  expect(list.posts[0]).toMatchObject({ likes: 5, comments: 4 });
});

test("lists are read page by page, past empty pages, each post once", async () => {
  const s = new Server();
  const liked = s.client.likedPosts();
  await liked.more();
  expect([liked.loaded, liked.hasMore, liked.items.map((e) => `${e.post.id} ${e.timeMs}`)]).toEqual([true, true, ["30 5"]]);
  await liked.more();
  await liked.more();
  expect([liked.hasMore, liked.items.map((e) => e.post.id)]).toEqual([false, ["30", "20"]]);
  await liked.refresh();
  expect([liked.hasMore, liked.items.map((e) => e.post.id)]).toEqual([true, ["30"]]);
  const hot = s.client.hotPosts("week");
  await hot.more();
  expect([hot.hasMore, hot.items.map((e) => e.likesOfPeriod)]).toEqual([false, [3, 3]]);
  expect(s.calls).toEqual(["listLikes ", "listLikes a", "listLikes ", `listHotPosts ${HotWindow.WEEK} `, `listHotPosts ${HotWindow.WEEK} a`]);
});

test("posts in lists are watched, with those that they repost, and are places without content when they are hidden", async () => {
  const s = new Server();
  s.posts.push(post("10", { reposted: s.posts[0]! }));
  const hot = s.client.hotPosts("now");
  s.client.watchPosts(hot);
  await hot.more();
  expect(s.watched.at(-1)).toEqual(["30", "20", "10"]);
  s.posts = s.posts.slice(2).map((p) => ({ ...p, reposted: undefined }));
  s.shownPosts.take(["30", "20"]);
  await vi.waitFor(() => expect([...hot.gone]).toEqual(["30", "20"]));
  expect(hot.items.map((e) => [e.post.id, e.post.content !== undefined, e.post.reposted?.id])).toEqual([["30", false, undefined], ["20", false, undefined], ["10", true, undefined]]);
  await hot.refresh();
  expect([hot.items.map((e) => e.post.id), hot.gone.size, s.watched.at(-1)]).toEqual([["10"], 0, ["10"]]);
});

test("a list tells of changed and removed items; calls for more at once read one page", async () => {
  const reads: string[] = [];
  let changes = 0;
  const list = new PageList<string>({
    read: async (page) => {
      reads.push(page);
      return { items: [`item${reads.length}`], next: "a" };
    },
    idOf: (item) => item,
    onChange: () => changes++,
  });
  await Promise.all([list.more(), list.more()]);
  expect([reads, changes]).toEqual([[""], 1]);
  list.update(() => "changed");
  expect(changes).toBe(2);
  list.remove("changed");
  expect([list.items, changes]).toEqual([[], 3]);
});

test("what is removed while a page comes does not come back", async () => {
  const list: PageList<string> = new PageList<string>({
    read: async (page) => {
      if (page === "") return { items: ["a", "b"], next: "2" };
      list.remove("a");
      list.remove("c");
      return { items: ["c", "d"], next: "" };
    },
    idOf: (item) => item,
    onChange: () => {},
  });
  await list.more();
  await list.more();
  expect([list.items, list.hasMore]).toEqual([["b", "d"], false]);
});

test("views are recorded together, once, and again where that failed", async () => {
  const calls: string[][] = [];
  let fails = true;
  const r = new ViewRecorder(async (posts) => {
    calls.push(posts);
    if (fails) throw new RialtoError("unavailable", "offline");
  });
  for (const p of ["1", "2", "1"]) r.viewed(p);
  await r.flush();
  fails = false;
  await r.flush();
  r.viewed("2");
  await r.flush();
  expect(calls).toEqual([["1", "2"], ["1", "2"]]);
  for (let i = 0; i < 700; i++) r.viewed(`p${i}`);
  await r.flush();
  expect(calls.slice(2).map((c) => c.length)).toEqual([100, 100, 100, 100, 100]);
  r.forget();
  r.viewed("2");
  await r.flush();
  expect(calls.at(-1)).toEqual(["2"]);
});
