import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { RialtoError } from "../../src/errors.js";
import { PostContentSchema, PostSchema, type Post } from "../../src/gen/rialto/feed/v1/feed_pb.js";
import type { Context } from "../../src/operations/context.js";
import { feed } from "../../src/operations/feed.js";
import { PostList } from "../../src/posts.js";
import { ShownPosts } from "../../src/shown.js";
import { Random } from "./random.js";

const textOf = (p: Post) => p.content?.text ?? "";
const idsOf = (list: PostList) => list.posts.map((p) => Number(p.id));

/** A timeline that is read as the server reads it: a page has what is visible of the next `limit` posts. */
class Timeline {
  posts: Post[] = [];
  hidden = new Set<string>();
  reads: string[] = [];
  fails = false;
  private last = 95; // so that the number of digits changes

  add(text = ""): Post {
    const p = create(PostSchema, { id: String((this.last += 2)), version: 1, content: create(PostContentSchema, { text }) });
    this.posts.unshift(p);
    return p;
  }

  edit(id: string, text: string): Post {
    const at = this.posts.findIndex((p) => p.id === id);
    const p = { ...this.posts[at]!, version: this.posts[at]!.version + 1, content: create(PostContentSchema, { text }) };
    this.posts[at] = p;
    return p;
  }

  visible(): Post[] {
    return this.posts.filter((p) => !this.hidden.has(p.id));
  }

  readonly read = async (before: string, limit: number) => {
    this.reads.push(before);
    if (this.fails) throw new RialtoError("unavailable", "offline");
    const from = before === "0" ? this.posts : this.posts.filter((p) => BigInt(p.id) < BigInt(before));
    const page = from.slice(0, limit);
    return { posts: page.filter((p) => !this.hidden.has(p.id)), next: from.length > limit ? page.at(-1)!.id : "0" };
  };

  list(hasOwn = true): PostList {
    return new PostList({ read: this.read, hasOwn, onChange: () => {} });
  }
}

function timelineOf(n: number): Timeline {
  const t = new Timeline();
  for (let i = 0; i < n; i++) t.add(String(i));
  return t;
}

test("pages follow each other, past empty ones, and the end is known", async () => {
  const t = timelineOf(70);
  for (const p of t.posts.slice(20, 45)) t.hidden.add(p.id); // the second page has none
  const list = t.list();
  await list.more();
  expect([list.posts.length, list.hasMore]).toEqual([20, true]);
  await Promise.all([list.more(), list.more()]); // the second one does nothing
  expect([list.posts.length, t.reads.length]).toEqual([35, 3]);
  await list.more();
  expect(list.posts).toEqual(t.visible());
  expect(list.hasMore).toBe(false);
  const reads = t.reads.length;
  await list.more();
  expect(t.reads.length).toBe(reads);
});

test("new posts wait until they are shown, and come once", async () => {
  const t = timelineOf(30);
  const list = t.list();
  await list.check();
  const before = list.posts;
  t.add("a");
  await list.check();
  t.add("b");
  await Promise.all([list.check(), list.more()]);
  expect(list.posts.slice(0, 20)).toEqual(before);
  expect(list.fresh.map(textOf)).toEqual(["b", "a"]);
  await list.showNew();
  expect([list.posts, list.fresh]).toEqual([t.posts, []]);
});

test("more new posts than are read at once begin the list again, without a gap", async () => {
  const t = timelineOf(50);
  const list = t.list();
  await list.check();
  for (let i = 0; i < 230; i++) t.add();
  await list.check();
  expect([list.fresh.length, list.hasMoreFresh, list.posts.length]).toEqual([200, true, 20]);
  t.add("the last");
  await list.check();
  await Promise.all([list.more(), list.showNew()]);
  expect(list.posts).toEqual(t.posts.slice(0, 200));
  while (list.hasMore) await list.more();
  expect(list.posts).toEqual(t.posts);
});

test("what others edited and deleted shows in its place", async () => {
  const t = timelineOf(25);
  const list = t.list();
  await list.check();
  const [, second, third] = list.posts;
  t.edit(second!.id, "edited");
  t.posts = t.posts.filter((p) => p.id !== third!.id);
  await list.check();
  expect([textOf(list.posts[1]!), list.posts[2], [...list.gone]]).toEqual(["edited", { ...third, content: undefined, reposted: undefined }, [third!.id]]);
  expect(list.fresh).toEqual([]); // the page that was read goes on below the list
  await list.refresh();
  expect([list.posts, list.gone.size]).toEqual([t.posts.slice(0, list.posts.length), 0]);
});

test("what was done here stays, whatever a page says that was asked for before", async () => {
  const t = timelineOf(3);
  const list = t.list();
  await list.check();
  const [first, second] = list.posts;
  let answer = () => {};
  const old = await t.read("0", 20);
  const slow = new PostList({ read: () => new Promise((resolve) => (answer = () => resolve(old))), hasOwn: true, onChange: () => {} });
  const reading = slow.check();
  await Promise.resolve();
  slow.removed(first!.id, true);
  slow.changed({ ...second!, version: 2, content: create(PostContentSchema, { text: "edited" }) });
  answer();
  await reading;
  expect(slow.posts.map(textOf)).toEqual(["edited", "0"]);
});

test("what is deleted elsewhere keeps its place, and what is deleted here does not", async () => {
  const t = timelineOf(25);
  const list = t.list();
  await list.check();
  const before = idsOf(list);
  const [first, second, third] = list.posts;
  t.add("fresh");
  await list.check();
  const [fresh] = list.fresh;
  t.posts = t.posts.filter((p) => ![first!.id, second!.id, fresh!.id].includes(p.id));
  list.removed(first!.id);
  list.removed(second!.id, true);
  list.removed(fresh!.id);
  expect(list.posts[0]!.content).toBeUndefined();
  expect([idsOf(list), [...list.gone], list.fresh]).toEqual([before.filter((id) => id !== Number(second!.id)), [first!.id], []]);
  await list.check();
  expect([idsOf(list).slice(0, 2), [...list.gone]]).toEqual([[Number(first!.id), Number(third!.id)], [first!.id]]);
  list.changed(first!); // it is shown again
  expect([list.gone.size, textOf(list.posts[0]!)]).toEqual([0, textOf(first!)]);
  list.removed(first!.id);
  await list.refresh();
  expect([list.posts, list.gone.size]).toEqual([t.posts.slice(0, list.posts.length), 0]);
});

test("a post that is deleted while a later page comes is not shown", async () => {
  const t = timelineOf(120);
  const [first] = t.posts;
  let deletes = false;
  const list: PostList = new PostList({
    read: async (before, limit) => {
      const page = await t.read(before, limit);
      if (deletes && before !== "0") list.removed(first!.id); // the earlier page has it
      return page;
    },
    hasOwn: true,
    onChange: () => {},
  });
  for (let i = 0; i < 4; i++) await list.more();
  deletes = true;
  await list.refresh();
  expect([list.posts, list.gone.size]).toEqual([t.posts.slice(1, 100), 0]);
});

test("a list that could not be read stays, and goes on", async () => {
  const t = timelineOf(30);
  const list = t.list();
  t.fails = true;
  await expect(list.more()).rejects.toMatchObject({ code: "unavailable" });
  expect([list.loaded, list.posts.length]).toEqual([false, 0]);
  t.fails = false;
  await list.more();
  t.fails = true;
  await expect(list.refresh()).rejects.toThrow();
  await expect(list.more()).rejects.toThrow();
  t.fails = false;
  await list.more();
  expect(list.posts).toEqual(t.posts);
});

test("one's own post shows at once with what came before it; a list of others' posts does not move", async () => {
  const t = timelineOf(5);
  const [mine, theirs] = [t.list(), t.list(false)];
  await Promise.all([mine.check(), theirs.check()]);
  t.add("other");
  t.add("own");
  mine.published();
  theirs.published();
  await Promise.all([mine.check(), theirs.check()]);
  expect([mine.posts.slice(0, 2).map(textOf), mine.fresh.length]).toEqual([["own", "other"], 0]);
  expect([theirs.posts.length, theirs.fresh.length]).toEqual([5, 2]);
});

test("whatever happens in whatever order, no post comes twice and none is skipped", async () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = new Random(seed);
    const pick = (n: number) => random.below(n);
    const t = timelineOf(pick(60));
    const list = t.list();
    const steps: (() => void)[] = [
      () => { for (let n = pick(pick(10) === 0 ? 260 : 4); n > 0; n--) t.add(); },
      () => void (t.posts.length > 0 && t.hidden.add(t.posts[pick(t.posts.length)]!.id)),
      () => void (t.posts.length > 0 && t.edit(t.posts[pick(t.posts.length)]!.id, "edited")),
      () => void (t.fails = pick(5) === 0),
      () => void list.more().catch(() => {}),
      () => void list.check().catch(() => {}),
      () => void list.refresh().catch(() => {}),
      () => void list.showNew(),
      () => list.published(),
    ];
    for (let n = 0; n < 40; n++) {
      steps[pick(steps.length)]!();
      if (pick(2) === 0) await list.showNew(); // all that was begun is done
      const ids = idsOf(list);
      expect(ids, `seed ${seed}`).toEqual([...new Set(ids)].sort((a, b) => b - a));
    }
    t.fails = false;
    await list.check();
    await list.showNew();
    while (list.hasMore) await list.more();
    const visible = t.visible().map((p) => Number(p.id));
    expect(idsOf(list).filter((id) => visible.includes(id)), `seed ${seed}`).toEqual(visible);
    await list.refresh();
    while (list.hasMore) await list.more();
    expect(idsOf(list), `seed ${seed}`).toEqual(visible);
  }
});

// --- calls ---

function area(answers: (unknown | Error)[]) {
  const calls: [string, Record<string, unknown>][] = [];
  let me = "7";
  const feedApi = new Proxy({}, {
    get: (_, name: string) => async (request: Record<string, unknown>) => {
      calls.push([name, request]);
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  const context = { services: { feedApi }, options: { random: () => 0 }, snapshots: { touch: () => {} }, shownPosts: new ShownPosts(() => {}), me: () => me } as unknown as Context;
  return { posts: feed(context), calls, login: (user: string) => (me = user) };
}

const lost = () => new RialtoError("unavailable", "offline");

test("a post whose answer was lost is sent again as the same one", async () => {
  const { posts, calls } = area([lost(), lost(), create(PostSchema, { id: "1" })]);
  const told: string[] = [];
  posts.watchPosts({ changed: () => told.push("changed"), removed: () => told.push("removed"), published: () => told.push("published") });
  expect((await posts.publishPost({ text: "hi" })).id).toBe("1");
  const keys = calls.map(([, request]) => request["clientPostId"]);
  expect(keys).toEqual([keys[0], keys[0], keys[0]]);
  expect(keys[0]).toMatch(/^[\w-]{1,64}$/);
  expect(told).toEqual(["published"]);
});

test("a refusal is not repeated, nor is a post of somebody who has left, nor one for ever", async () => {
  const refused = area([new RialtoError("resource_exhausted", "tomorrow", "post_quota", 5)]);
  await expect(refused.posts.publishPost({ text: "hi" })).rejects.toMatchObject({ reason: "post_quota" });
  expect(refused.calls.length).toBe(1);

  const left = area([lost(), create(PostSchema, { id: "1" })]);
  const publishing = left.posts.publishPost({ text: "hi" });
  left.login("8");
  await expect(publishing).rejects.toMatchObject({ code: "unavailable" });
  expect(left.calls.length).toBe(1);

  const unreachable = area([lost(), lost(), lost(), lost(), lost()]);
  await expect(unreachable.posts.publishPost({ text: "hi" }, "mine")).rejects.toMatchObject({ code: "unavailable" });
  expect(unreachable.calls.map(([, request]) => request["clientPostId"])).toEqual(["mine", "mine", "mine", "mine"]);
});

test("lists that are shown follow what is done here", async () => {
  const post = create(PostSchema, { id: "5", version: 1, content: create(PostContentSchema, { text: "hi" }) });
  const repost = create(PostSchema, { id: "6", version: 1, reposted: post });
  const edited = create(PostSchema, { id: "5", version: 2, content: create(PostContentSchema, { text: "hello" }) });
  const { posts } = area([{ posts: [repost, post], next: "0" }, edited, {}]);
  const list = posts.homeTimeline();
  const stop = posts.watchPosts(list);
  await list.check();
  await posts.editPost("5", { text: "hello" }, 1);
  expect(list.posts.map((p) => textOf(p.reposted ?? p))).toEqual(["hello", "hello"]);
  await posts.deletePost("5");
  expect(list.posts.map((p) => [p.id, p.reposted])).toEqual([["6", undefined]]);
  stop();
});
