// @vitest-environment happy-dom
import { create } from "@bufbuild/protobuf";
import { act, createElement, useLayoutEffect, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RialtoError } from "../../src/errors.js";
import { FeedProfileSchema, PostContentSchema, PostSchema, type Post } from "../../src/gen/rialto/feed/v1/feed_pb.js";
import type { Relation } from "../../src/model.js";
import type { Context } from "../../src/operations/context.js";
import { ShownPosts } from "../../src/shown.js";
import { feed } from "../../src/operations/feed.js";
import { RialtoProvider, useFeedProfile, useHomeTimeline, usePost, usePosts } from "../../src/react/index.js";
import { FakeClient } from "./fakeClient.js";

const post = (id: string, author: string, text = id) => create(PostSchema, { id, author, version: 1, content: create(PostContentSchema, { text }) });

/** A client of user 7, with a server of posts by 8 and 9. */
class FeedClient extends FakeClient {
  readonly me = "7";
  fails = false;
  calls: string[] = [];
  posts: Post[] = [post("30", "8"), post("20", "9")];
  /** The client's own map, which it changes in place. */
  readonly known = new Map<string, Relation>();
  relations = () => this.known;

  constructor() {
    super();
    const answer = (name: string, q: { post?: string; content?: { text: string } }): unknown => {
      this.calls.push(name);
      if (this.fails) throw new RialtoError("unavailable", "offline");
      const isFollowed = (p: Post) => this.known.get(p.author)?.following;
      switch (name) {
        case "homeTimeline":
          return { posts: this.posts.filter(isFollowed), next: "0" };
        case "listPosts":
          return { posts: this.posts.filter((p) => p.author === "9"), next: "0" };
        case "getPost":
          return this.posts.find((p) => p.id === q.post);
        case "editPost":
          return { ...post(q.post!, "7", q.content!.text), version: 2 };
        case "getFeedProfile":
          return create(FeedProfileSchema, { followers: [...this.known.values()].filter((r) => r.following).length });
        default:
          return {};
      }
    };
    const feedApi = new Proxy({}, { get: (_, name: string) => async (q: object) => answer(name, q) });
    Object.assign(this, feed({ services: { feedApi }, options: { random: () => 0 }, snapshots: { touch: () => void this.set({}) }, shownPosts: new ShownPosts(() => {}), me: () => "7" } as unknown as Context));
  }

  private hinted: ((posts: { post: string; author: string }[]) => void)[] = [];

  on(_: "posts", f: (posts: { post: string; author: string }[]) => void): () => void {
    this.hinted.push(f);
    return () => void (this.hinted = this.hinted.filter((g) => g !== f));
  }

  hint(...authors: string[]): void {
    for (const f of this.hinted) f(authors.map((author) => ({ post: "1", author })));
  }

  async follow(user: string, following = true): Promise<void> {
    this.known.set(user, { user, following } as Relation);
    await this.set({});
    await this.frame();
  }
}

let client: FeedClient;
let root: Root;

beforeEach(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  client = new FeedClient();
  root = createRoot(document.createElement("div"));
});
afterEach(() => {
  act(() => root.unmount());
  vi.useRealTimers();
});

async function render<T>(hook: () => T): Promise<() => T> {
  let last: T;
  function Probe(): ReactNode {
    const value = hook();
    useLayoutEffect(() => void (last = value));
    return null;
  }
  await act(async () => root.render(createElement(RialtoProvider, { client: client.asClient() }, createElement(Probe))));
  return () => last;
}

test("a home timeline follows whom one follows at once, and shows new posts when they are asked for", async () => {
  const shown = await render(() => useHomeTimeline());
  expect(shown().loading).toBe(true);
  await act(() => client.set({ connection: "online" }));
  await act(() => client.frame());
  expect([shown().loading, shown().posts.length]).toEqual([false, 0]);
  await act(() => client.follow("8"));
  await act(() => client.follow("9"));
  expect(shown().posts.map((p) => p.id)).toEqual(["30", "20"]);
  await act(() => client.follow("9", false));
  expect(shown().posts.map((p) => p.id)).toEqual(["30"]);

  client.posts = [post("40", "8"), ...client.posts];
  await act(async () => void document.dispatchEvent(new Event("visibilitychange")));
  await act(() => client.frame());
  expect([shown().posts.length, shown().fresh]).toEqual([1, 1]);
  await act(() => shown().showNew());
  await act(() => client.frame());
  expect([shown().posts.map((p) => p.id), shown().fresh]).toEqual([["40", "30"], 0]);
});

test("an error shows until posts are read, and what could not be read again is read later", async () => {
  client.fails = true;
  const shown = await render(() => useHomeTimeline());
  await act(() => client.set({ connection: "online" }));
  await act(() => client.frame());
  expect([shown().loading, (shown().error as RialtoError).code]).toEqual([false, "unavailable"]);
  client.fails = false;
  await act(() => shown().loadMore());
  await act(() => client.frame());
  expect([shown().error, shown().posts.length]).toEqual([undefined, 0]);

  client.fails = true;
  await act(() => client.follow("8"));
  expect((shown().error as RialtoError).code).toBe("unavailable");
  client.fails = false;
  await act(() => client.set({ connection: "offline" }));
  await act(() => client.set({ connection: "online" }));
  await act(() => client.frame());
  expect([shown().error, shown().posts.map((p) => p.id)]).toEqual([undefined, ["30"]]);
});

test("when new posts are told of, they are read once, by the lists that have them", async () => {
  const shown = await render(() => [useHomeTimeline(), usePosts("9")] as const);
  await act(() => client.set({ connection: "online" }));
  await act(() => client.follow("8"));
  client.posts = [post("40", "8"), ...client.posts];
  client.calls = [];
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  client.hint("8");
  client.hint("8", "8");
  await act(() => vi.runAllTimersAsync());
  vi.useRealTimers();
  await act(() => client.frame());
  expect(client.calls).toEqual(["homeTimeline"]);
  expect([shown()[0].fresh, shown()[1].fresh]).toEqual([1, 0]);
});

test("open lists show what the server has after it was restored from a backup", async () => {
  const shown = await render(() => [useHomeTimeline(), usePosts("9")] as const);
  await act(() => client.set({ connection: "online" }));
  await act(() => client.follow("9"));
  client.posts = [post("20", "9", "edited"), post("10", "9")];
  await act(() => client.set({ connection: "offline" }));
  await act(() => client.set({ connection: "online" }));
  await act(() => client.frame());
  client.posts = [post("20", "9", "as it was")];
  client.resets++;
  await act(() => client.set({}));
  await act(() => client.frame());
  for (const list of shown()) expect([list.posts.map((p) => p.content?.text), list.gone.size, list.fresh]).toEqual([["as it was"], 0, 0]);
});

test("a post and a profile are current with what is done here", async () => {
  const shown = await render(() => [usePost("30"), useFeedProfile("8")] as const);
  await act(() => client.set({ connection: "online" }));
  await act(() => client.frame());
  expect([shown()[0].post?.content?.text, shown()[1]?.followers]).toEqual(["30", 0]);
  await act(() => client.follow("8"));
  expect(shown()[1]?.followers).toBe(1);
  await act(async () => void (await client.asClient().editPost("30", { text: "edited" })));
  expect(shown()[0].post?.content?.text).toBe("edited");
  await act(() => client.asClient().deletePost("30"));
  expect([shown()[0].post, shown()[0].deleted]).toEqual([undefined, true]);
});
