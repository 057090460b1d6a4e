import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { PostContentSchema, PostSchema } from "../../src/gen/rialto/feed/v1/feed_pb.js";
import { PostKind, RankReason } from "../../src/gen/rialto/ranking/v1/ranking_pb.js";
import type { Context } from "../../src/operations/context.js";
import { ranking } from "../../src/operations/ranking.js";
import { ShownPosts } from "../../src/shown.js";

const post = (id: string, author: string) => create(PostSchema, { id, author, version: 1, content: create(PostContentSchema, { text: id }) });

/** A server with two pages, of which the first has the posts of two authors. */
function client() {
  const calls: string[] = [];
  const call = (name: string) => async (q: Record<string, unknown>) => {
    calls.push([name, ...Object.values(q)].join(" "));
    if (name === "listShownLess") return { entries: [{ author: "8", kind: PostKind.UNSPECIFIED, sinceMs: 5 }] };
    if (name !== "forYou") return {};
    const [posts, next] = q["page"] === "" ? [[post("30", "8"), post("10", "9")], "a"] : [[post("20", "8")], ""];
    return { posts: posts.map((p) => ({ post: p, reasons: [RankReason.FOLLOWED], kind: PostKind.VIDEO })), next };
  };
  const rankingApi = new Proxy({}, { get: (_, name: string) => call(name) });
  const context = { services: { rankingApi }, options: {}, snapshots: { touch: () => {} }, shownPosts: new ShownPosts(() => {}), me: () => "7" } as unknown as Context;
  return { calls, ...ranking(context) };
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
