import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { RialtoError } from "../../src/errors.js";
import { PostContentSchema, PostSchema, type Post } from "../../src/gen/rialto/feed/v1/feed_pb.js";
import type { Context } from "../../src/operations/context.js";
import { feed } from "../../src/operations/feed.js";
import { ShownPosts, type ShownPost } from "../../src/shown.js";

type Watched = readonly { post: string; version: number }[];

test("the server is told which posts are shown, when they change, and again on each connection", () => {
  const sent: string[] = [];
  const shown = new ShownPosts((posts: Watched) => sent.push(posts.map((p) => `${p.post}v${p.version}`).join(" ")));
  let list: ShownPost[] = [{ id: "1", version: 1 }, { id: "2", version: 1 }];
  const end = shown.watch(() => list, () => {});
  shown.update();
  list = [{ id: "1", version: 2 }, { id: "2", version: 1 }];
  shown.update();
  const endOther = shown.watch(() => [{ id: "3", version: 1 }, { id: "1", version: 2 }], () => {});
  shown.opened();
  endOther();
  end();
  shown.opened();
  expect(sent).toEqual(["1v1 2v1", "1v2 2v1", "3v1 1v2 2v1", "3v1 1v2 2v1", "1v2 2v1", ""]);
});

test("no more posts are watched than the server allows", () => {
  let last: Watched = [];
  const shown = new ShownPosts((posts) => (last = posts));
  shown.watch(() => Array.from({ length: 150 }, (_, i) => ({ id: String(i), version: 1 })), () => {});
  expect(last.length).toBe(100);
});

test("each source is told of its own posts", () => {
  const told: string[] = [];
  const shown = new ShownPosts(() => {});
  shown.watch(() => [{ id: "1", version: 1 }], (posts) => told.push(`a ${posts.join()}`));
  const end = shown.watch(() => [{ id: "1", version: 1 }, { id: "2", version: 1 }], (posts) => told.push(`b ${posts.join()}`));
  shown.take(["2", "1", "9"]);
  end();
  shown.take(["2"]);
  expect(told).toEqual(["a 1", "b 2,1"]);
});

/** A server with a post that the tests change. */
function shownList() {
  const post = (id: string, text: string, version = 1): Post => create(PostSchema, { id, version, content: create(PostContentSchema, { text }) });
  const posts = new Map([["2", post("2", "two")], ["1", post("1", "one")]]);
  let reads = 0;
  let during: (() => void) | undefined;
  const feedApi = {
    homeTimeline: async () => ({ posts: [...posts.values()], next: "0" }),
    getPost: async ({ post }: { post: string }) => {
      reads++;
      const found = posts.get(post);
      await Promise.resolve();
      during?.();
      if (!found) throw new RialtoError("not_found", "no post", "no_post");
      return found;
    },
  };
  const shownPosts = new ShownPosts(() => {});
  const client = feed({ services: { feedApi }, options: { random: () => 0 }, snapshots: { touch: () => {} }, shownPosts, me: () => "9" } as unknown as Context);
  const list = client.homeTimeline();
  client.watchPosts(list);
  return { posts, post, list, shownPosts, reads: () => reads, during: (f?: () => void) => (during = f), texts: () => list.posts.map((p) => p.content?.text) };
}

const settled = () => new Promise((resolve) => setTimeout(resolve));

test("a post that was hidden keeps its place without content, and one that was edited changes", async () => {
  const t = shownList();
  await t.list.check();
  t.posts.delete("2");
  t.shownPosts.take(["2"]);
  await settled();
  expect(t.texts()).toEqual([undefined, "one"]);
  expect([...t.list.gone]).toEqual(["2"]);
  t.posts.set("1", t.post("1", "edited", 2));
  t.shownPosts.take(["1"]);
  await settled();
  expect(t.texts()).toEqual([undefined, "edited"]);
});

test("a post that changes while it is read is read again", async () => {
  const t = shownList();
  await t.list.check();
  t.posts.set("1", t.post("1", "second", 2));
  t.during(() => {
    t.during();
    t.posts.delete("1");
    t.shownPosts.take(["1"]);
  });
  t.shownPosts.take(["1"]);
  await settled();
  await settled();
  expect(t.texts()).toEqual(["two", undefined]);
  expect(t.reads()).toBe(2);
});
