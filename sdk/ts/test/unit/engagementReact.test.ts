// @vitest-environment happy-dom
import { create } from "@bufbuild/protobuf";
import { act, createElement } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RialtoError } from "../../src/errors.js";
import { PostSchema, type Post } from "../../src/gen/rialto/feed/v1/feed_pb.js";
import type { Relation } from "../../src/model.js";
import type { Context } from "../../src/operations/context.js";
import { engagement } from "../../src/operations/engagement.js";
import { ShownPosts } from "../../src/shown.js";
import { feed } from "../../src/operations/feed.js";
import { RialtoProvider, useEngagement, useLikedPosts, type Engagement, type ListedPosts } from "../../src/react/index.js";
import { FakeClient } from "./fakeClient.js";

class EngagementClient extends FakeClient {
  readonly me = "7";
  fails = false;
  /** The client's own map, which it changes in place. */
  readonly known = new Map<string, Relation>();
  relations = () => this.known;
  /** How often the liked posts were read. */
  reads = 0;

  constructor() {
    super();
    const engagementApi = new Proxy({}, { get: (_, name: string) => async () => {
      if (this.fails) throw new RialtoError("not_found", "gone", "no_post");
      if (name !== "listLikes") return {};
      this.reads++;
      const liked = [create(PostSchema, { id: "5", author: "8", likes: 1, liked: true })].filter((p) => !this.known.get(p.author)?.blocked);
      return { posts: liked.map((post) => ({ post, timeMs: 1n })), next: "" };
    } });
    const context = { services: { feedApi: {}, engagementApi }, options: { random: () => 0 }, snapshots: { touch: () => void this.set({}) }, shownPosts: new ShownPosts(() => {}), me: () => "7" } as unknown as Context;
    Object.assign(this, feed(context), engagement(context));
  }
}

let client: EngagementClient;
let root: Root;
beforeEach(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  client = new EngagementClient();
  root = createRoot(document.createElement("div"));
});
afterEach(() => act(() => root.unmount()));

test("a like shows at once, is taken back with the error, and another copy of the post counts", async () => {
  let got!: Engagement<Post>;
  const show = (post: Post) => act(async () => root.render(createElement(RialtoProvider, { client: client.asClient() }, createElement(() => ((got = useEngagement(post)), null)))));
  const post = create(PostSchema, { id: "5", likes: 1 });
  await show(post);
  await act(async () => got.toggleLike());
  expect([got.shown.liked, got.shown.likes, got.error]).toEqual([true, 2, undefined]);
  client.fails = true;
  await act(async () => got.toggleFavourite());
  expect([got.shown.favourited, got.shown.favourites]).toEqual([false, 0]);
  expect(got.error).toMatchObject({ reason: "no_post" });
  await show(create(PostSchema, { id: "5", likes: 9, liked: true }));
  expect([got.shown.liked, got.shown.likes]).toEqual([true, 9]);
});

test("a list follows what is done with its posts", async () => {
  let got!: ListedPosts;
  await act(async () => root.render(createElement(RialtoProvider, { client: client.asClient() }, createElement(() => ((got = useLikedPosts()), null)))));
  await act(() => client.set({ connection: "online" }));
  await act(() => client.frame());
  expect([got.loading, got.posts.map((e) => [e.post.id, e.post.likes])]).toEqual([false, [["5", 1]]]);
  await act(async () => client.asClient().setLiked(got.posts[0]!.post, false));
  await act(() => client.frame());
  expect(got.posts.map((e) => [e.post.liked, e.post.likes])).toEqual([[false, 0]]);
});

test("who is blocked leaves a list at once, and comes back; who is only followed does not read it again", async () => {
  let got!: ListedPosts;
  const relate = (change: Partial<Relation>) =>
    act(async () => {
      client.known.set("8", { user: "8", ...change } as Relation);
      await client.set({});
    });
  await act(async () => root.render(createElement(RialtoProvider, { client: client.asClient() }, createElement(() => ((got = useLikedPosts()), null)))));
  await act(() => client.set({ connection: "online" }));
  await act(() => client.frame());
  await relate({ following: true });
  await act(() => client.frame());
  expect([client.reads, got.posts.length]).toEqual([1, 1]);
  await relate({ following: true, blocked: true });
  await act(() => client.frame());
  expect([client.reads, got.posts.length]).toEqual([2, 0]);
  client.fails = true;
  await relate({ following: true });
  await act(() => client.frame());
  expect(got.error).toMatchObject({ reason: "no_post" });
  client.fails = false;
  await act(() => client.set({ connection: "offline" }));
  await act(() => client.set({ connection: "online" }));
  await act(() => client.frame());
  expect([got.error, got.posts.length]).toEqual([undefined, 1]);
});
