import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { RialtoError } from "../../src/errors.js";
import { PostContentSchema, PostSchema } from "../../src/gen/rialto/feed/v1/feed_pb.js";
import { PostKind, RankReason } from "../../src/gen/rialto/ranking/v1/ranking_pb.js";
import { ImpressionRecorder, type Impressions } from "../../src/impressions.js";
import type { Context } from "../../src/operations/context.js";
import { ranking } from "../../src/operations/ranking.js";
import { ShownPosts } from "../../src/shown.js";

const post = (id: string, author: string) => create(PostSchema, { id, author, version: 1, content: create(PostContentSchema, { text: id }) });

/** A server with two pages, of which the first has the posts of two authors. */
function client() {
  const calls: string[] = [];
  const state = { fails: false, noPersonalization: false };
  const call = (name: string) => async (q: Record<string, unknown>) => {
    calls.push([name, ...Object.values(q).map((v) => (typeof v === "object" ? JSON.stringify(v) : v))].join(" "));
    if (name === "listShownLess") return { entries: [{ author: "8", kind: PostKind.UNSPECIFIED, sinceMs: 5 }] };
    if (name === "recordClicks" && state.fails) throw new RialtoError("unavailable", "offline");
    if (name !== "forYou") return {};
    const [posts, next] = q["page"] === "" ? [[post("30", "8"), post("10", "9")], "a"] : [[post("20", "8")], ""];
    return { posts: posts.map((p) => ({ post: p, reasons: [RankReason.FOLLOWED], kind: PostKind.VIDEO })), next };
  };
  const rankingApi = new Proxy({}, { get: (_, name: string) => call(name) });
  const context = { services: { rankingApi }, options: {}, snapshots: { touch: () => {} }, shownPosts: new ShownPosts(() => {}), me: () => "7", session: () => ({ settings: { current: state } }) } as unknown as Context;
  return { calls, state, ...ranking(context) };
}

test("ranked posts come in pages, in the server's order and with their reasons; those of an author can be taken out", async () => {
  const c = client();
  const list = c.forYou();
  await list.refresh();
  await list.more();
  expect(list.items.map((e) => [e.post.id, e.ranked])).toEqual(["30", "10", "20"].map((id) => [id, { reasons: [RankReason.FOLLOWED], kind: PostKind.VIDEO }]));
  expect(list.hasMore).toBe(false);
  list.removeOf("8");
  expect(list.items.map((e) => e.post.id)).toEqual(["10"]);
  expect(c.calls).toEqual(["forYou ", "forYou a"]);
});

test("less of an author or of a kind is asked for, listed and taken back", async () => {
  const c = client();
  await c.showLess({ author: "8" });
  await c.showLess({ kind: PostKind.VIDEO });
  await c.showAgain({ author: "8" });
  expect(c.calls).toEqual([`showLess 8 ${PostKind.UNSPECIFIED}`, `showLess 0 ${PostKind.VIDEO}`, `showAgain 8 ${PostKind.UNSPECIFIED}`]);
  expect(await c.shownLess()).toMatchObject([{ author: "8" }]);
});

test("what is done with ranked posts is recorded together, once for each page, and again where that failed; other posts are passed over", async () => {
  const c = client();
  const list = c.forYou();
  await list.refresh();
  for (const p of ["30", "30", "77"]) c.postOpened(p);
  c.state.fails = true;
  await c.recordImpressions();
  c.state.fails = false;
  c.postOpened("10");
  await c.recordImpressions();
  await c.recordImpressions();
  await list.refresh();
  c.postOpened("30"); // on another page
  await c.recordImpressions();
  expect(c.calls.filter((call) => call.startsWith("recordClicks"))).toEqual(['recordClicks ["30"] []', 'recordClicks ["30","10"] []', 'recordClicks ["30"] []']);
});

test("nothing is recorded of a user who has turned personalization off", async () => {
  const c = client();
  const list = c.forYou();
  await list.refresh();
  c.postOpened("30");
  c.state.noPersonalization = true;
  await c.recordImpressions();
  await list.refresh();
  c.postOpened("10");
  c.postOnScreen("10", true);
  await c.recordImpressions();
  c.state.noPersonalization = false;
  await c.recordImpressions();
  expect(c.calls).toEqual(["forYou ", "forYou "]);
});

test("how long posts are on the screen is recorded in total, where it is a second or more", async () => {
  let now = 0;
  const made: Impressions[] = [];
  const r = new ImpressionRecorder({ record: async (m) => made.push(m), isOff: () => false, now: () => now });
  r.shown(["1", "2", "3"]);
  const see = (post: string, ms: number) => {
    r.onScreen(post, true);
    now += ms;
    r.onScreen(post, false);
  };
  see("1", 700);
  see("1", 800);
  see("2", 999);
  see("9", 5_000);
  await r.flush();
  r.onScreen("3", true);
  now += 2_000_000;
  see("1", 500); // too little more
  await r.flush();
  await r.flush();
  expect(made).toEqual([{ posts: [], dwells: [{ post: "1", dwellMs: 1_500 }] }, { posts: [], dwells: [{ post: "3", dwellMs: 600_000 }] }]);
});

test("a recorder has a bound, and a call has at most 100 posts", async () => {
  const made: Impressions[] = [];
  const r = new ImpressionRecorder({ record: async (m) => made.push(m), isOff: () => false });
  const posts = Array.from({ length: 1_050 }, (_, i) => `${i}`);
  r.shown(posts);
  for (const p of posts) r.opened(p);
  await r.flush();
  expect(made.map((m) => m.posts.length)).toEqual(Array.from({ length: 10 }, () => 100));
  expect(made[0]!.posts[0]).toBe("50");
});
