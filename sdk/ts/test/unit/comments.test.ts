import { create } from "@bufbuild/protobuf";
import { expect, test, vi } from "vitest";
import { CommentList } from "../../src/comments.js";
import { RialtoError } from "../../src/errors.js";
import { CommentContentSchema, CommentSchema, type Comment } from "../../src/gen/rialto/comment/v1/comment_pb.js";
import type { Context } from "../../src/operations/context.js";
import { comments } from "../../src/operations/comments.js";
import { Random } from "./random.js";

const post = "50";
const textOf = (c: Comment) => c.content?.text ?? "";
const idsOf = (list: readonly { id: string }[]) => list.map((c) => Number(c.id));

interface CreateRequest {
  clientCommentId: string;
  subject: string;
  replyTo: string;
  content: { text: string };
}

/** A server of comments on one post, which pages as the server does: it examines `limit` rows, and leaves out what is not to be seen. */
class Server {
  all: Comment[] = [];
  calls: { name: string; q: unknown }[] = [];
  hidden = new Set<string>();
  /** How many answers are lost after the call took effect. */
  lost = 0;
  refuse: RialtoError | undefined;
  private last = 96; // so that the number of digits changes
  private readonly byKey = new Map<string, Comment>();

  add(text: string, { author = "8", replyTo }: { author?: string; replyTo?: Comment | undefined } = {}): Comment {
    const top = replyTo === undefined ? "0" : replyTo.top === "0" ? replyTo.id : replyTo.top;
    const c = create(CommentSchema, { id: String(this.last++), subject: post, author, top, replyTo: replyTo?.id ?? "0", replyToAuthor: replyTo?.author ?? "0", content: create(CommentContentSchema, { text }) });
    this.all.push(c);
    return c;
  }

  /** A comment as it is read: with its replies, and without content if it was deleted. */
  read(c: Comment): Comment | undefined {
    const replies = this.all.filter((r) => r.top === c.id && !r.deleted).length;
    if (this.hidden.has(c.id) || (c.deleted && replies === 0)) return undefined;
    return { ...c, replies };
  }

  page(top: string, newestFirst: boolean, page: string, limit: number) {
    const sorted = this.all.filter((c) => c.top === top).sort((a, b) => (newestFirst ? -1 : 1) * (Number(a.id) - Number(b.id)));
    const from = sorted.filter((c) => page === "" || (newestFirst ? Number(c.id) < Number(page) : Number(c.id) > Number(page)));
    const rows = from.slice(0, limit);
    return { comments: rows.map((c) => this.read(c)).filter((c) => c !== undefined), next: from.length > limit ? rows.at(-1)!.id : "" };
  }

  listOf(top: string, sorting: "newest" | "oldest" | "likes"): CommentList {
    return new CommentList({ read: async (page, limit) => this.page(top, sorting === "newest", page, limit), post, top, sorting, onChange: () => {} });
  }

  delete(id: string): void {
    this.all = this.all.map((c) => (c.id === id ? { ...c, deleted: true, author: "0", content: undefined } : c));
  }

  private answer(name: string, q: unknown): unknown {
    this.calls.push({ name, q });
    if (this.refuse) throw this.refuse;
    if (name === "createComment") {
      const r = q as CreateRequest;
      const stored = this.byKey.get(r.clientCommentId) ?? this.add(r.content.text, { author: "7", replyTo: this.all.find((c) => c.id === r.replyTo) });
      this.byKey.set(r.clientCommentId, stored);
      if (this.lost-- > 0) throw new RialtoError("unavailable", "lost");
      return stored;
    }
    if (name === "editComment") {
      const { comment, content } = q as { comment: string; content: { text: string } };
      this.all = this.all.map((c) => (c.id === comment ? { ...c, editedMs: c.editedMs + 1n, content: create(CommentContentSchema, content) } : c)) as Comment[];
      return this.all.find((c) => c.id === comment);
    }
    if (name === "deleteComment") this.delete((q as { comment: string }).comment);
    if (name === "listComments") {
      const { page, limit, order } = q as { page: string; limit: number; order: number };
      return this.page("0", order === 1, page, limit);
    }
    return {};
  }

  client(me = () => "7") {
    const commentApi = new Proxy({}, { get: (_, name: string) => async (q: unknown) => this.answer(name, q) });
    return comments({ services: { commentApi }, options: { random: () => 0 }, snapshots: { touch: () => {} }, me } as unknown as Context);
  }
}

test("pages follow each other, past empty ones, and what is written here comes once, in its place", async () => {
  const s = new Server();
  for (let i = 0; i < 70; i++) s.add(`c${i}`);
  for (const c of s.all.slice(20, 45)) s.hidden.add(c.id); // a page of 20 has none of them
  const list = s.listOf("0", "oldest");
  await Promise.all([list.more(), list.more()]); // the second one does nothing
  expect([list.comments.length, list.hasMore]).toEqual([20, true]);
  const mine = s.add("mine");
  list.created(mine);
  expect([list.comments.length, idsOf(list.own)]).toEqual([20, [Number(mine.id)]]); // it belongs behind what was not read
  while (list.hasMore) await list.more();
  expect(idsOf(list.comments)).toEqual(idsOf(s.page("0", false, "", 100).comments));
  expect(list.own).toEqual([]);

  const newest = s.listOf("0", "newest");
  await newest.more();
  const next = s.add("next");
  newest.created(next);
  expect(newest.comments[0]?.id).toBe(next.id);
  await newest.refresh();
  expect(idsOf(newest.comments)).toEqual(idsOf(s.page("0", true, "", 100).comments.slice(0, newest.comments.length)));
});

test("replies count, and a deleted comment leaves its place until its last reply is deleted", async () => {
  const s = new Server();
  const top = s.add("top");
  s.add("other");
  const list = s.listOf("0", "oldest");
  await list.more();
  const first = s.add("first", { replyTo: top });
  list.created(first);
  const second = s.add("second", { replyTo: first });
  list.created(second);
  expect([list.comments[0]?.replies, second.top]).toEqual([2, top.id]);
  list.removed(top);
  expect(list.comments[0]).toMatchObject({ deleted: true, author: "0", content: undefined, replies: 2 });
  list.removed(first);
  expect(list.comments.map((c) => c.replies)).toEqual([1, 0]);
  list.removed(second);
  expect(list.comments.map(textOf)).toEqual(["other"]);
});

test("a list shows what the server has, whatever is done in between", async () => {
  const random = new Random(7);
  for (let round = 0; round < 60; round++) {
    const s = new Server();
    for (let i = 0; i < 30; i++) s.add(`c${i}`);
    const sorting = round % 2 === 0 ? "newest" : "oldest";
    const list = s.listOf("0", sorting);
    for (let n = 0; n < 25; n++) {
      const some = s.all[random.below(s.all.length)]!;
      await [
        async () => list.more(),
        async () => list.refresh(),
        async () => list.created(s.add("own")),
        async () => {
          const replyTo = s.all.find((c) => c.id === some.id && !c.deleted);
          if (replyTo) list.created(s.add("reply", { replyTo }));
        },
        async () => {
          if (some.deleted) return;
          s.delete(some.id);
          list.removed(some);
        },
        async () => {
          const reading = list.more(); // which the server answers at once, and the list takes later
          list.created(s.add("meanwhile"));
          await reading;
        },
      ][random.below(6)]!();
      const ids = idsOf([...list.comments, ...list.own]);
      expect(new Set(ids).size).toBe(ids.length);
    }
    while (!list.loaded || list.hasMore) await list.more();
    const want = s.page("0", sorting === "newest", "", 1_000).comments;
    expect(list.comments.map((c) => `${c.id} ${c.replies} ${c.deleted}`), `round ${round}`).toEqual(want.map((c) => `${c.id} ${c.replies} ${c.deleted}`));
  }
});

test("a comment shows at once, is sent again where the answer is lost, and stored once", async () => {
  vi.useFakeTimers();
  try {
    const s = new Server();
    const top = s.add("top");
    const client = s.client();
    const seen: string[] = [];
    client.watchComments({ created: (c) => seen.push(textOf(c)), changed: () => {}, removed: () => {} });
    s.lost = 2;
    const sent = client.createComment(post, { text: "hello" }, { replyTo: top });
    expect(client.outgoingComments(post)).toMatchObject([{ top: top.id, replyTo: top.id, replyToAuthor: "8", content: { text: "hello" } }]);
    await vi.runAllTimersAsync();
    const stored = await sent;
    expect([s.all.length, stored.top, client.outgoingComments(post).length, seen]).toEqual([2, top.id, 0, ["hello"]]);
    const keys = s.calls.map((c) => (c.q as CreateRequest).clientCommentId);
    expect([keys.length, new Set(keys).size]).toEqual([3, 1]);
  } finally {
    vi.useRealTimers();
  }
});

test("a comment that is refused stays, and is sent again with its key, or discarded; it is its author's alone", async () => {
  let me = "7";
  const s = new Server();
  const client = s.client(() => me);
  s.refuse = new RialtoError("invalid_argument", "no", "bad_comment");
  await expect(client.createComment(post, { text: "a" }, { key: "k" })).rejects.toMatchObject({ reason: "bad_comment" });
  expect(client.outgoingComments(post)).toMatchObject([{ key: "k", failed: { reason: "bad_comment" } }]);
  s.refuse = undefined;
  await client.retryComment(post, "k");
  expect([s.all.map(textOf), client.outgoingComments(post).length, (s.calls[1]?.q as CreateRequest).clientCommentId]).toEqual([["a"], 0, "k"]);
  await expect(client.retryComment(post, "k")).rejects.toMatchObject({ code: "not_found" });

  s.refuse = new RialtoError("invalid_argument", "no", "bad_comment");
  await client.createComment(post, { text: "b" }, { key: "l" }).catch(() => {});
  me = "8";
  expect(client.outgoingComments(post)).toEqual([]);
  me = "7";
  client.discardComment(post, "l");
  expect(client.outgoingComments(post)).toEqual([]);
});

test("edits and deletions reach the lists, also one that was asked for a page before", async () => {
  const s = new Server();
  const a = s.add("a", { author: "7" });
  const b = s.add("b", { author: "7" });
  const client = s.client();
  const list = client.commentsOf(post, "oldest");
  client.watchComments(list);
  const reading = list.more();
  await client.editComment(a.id, { text: "A" });
  await client.deleteComment(b);
  await reading;
  expect(list.comments.map(textOf)).toEqual(["A"]);
});

test("counts follow what is done here, until a post is read with another one", async () => {
  let me = "7";
  const client = new Server().client(() => me);
  const read = { id: post, comments: 3 };
  expect(client.commentCount(read)).toBe(3);
  const c = await client.createComment(post, { text: "x" });
  await client.createComment(post, { text: "y" });
  expect([client.commentCount(read), client.commentCount(read)]).toEqual([5, 5]);
  expect(client.commentCount({ id: "51", comments: 3 })).toBe(3);
  await client.deleteComment(c);
  expect(client.commentCount(read)).toBe(4);
  expect(client.commentCount({ id: post, comments: 6 })).toBe(6);
  me = "8";
  expect(client.commentCount(read)).toBe(3);
});

test("in the order of likes, what is written here comes first, and a like shows in its place", async () => {
  const s = new Server();
  for (const text of ["a", "b", "c"]) s.add(text);
  const list = s.listOf("0", "likes");
  await list.more();
  list.created(s.add("mine"));
  expect(list.comments.map(textOf)).toEqual(["mine", "a", "b", "c"]);
  const b = list.comments[2]!;
  list.engaged({ kind: "comment", id: b.id, liked: true });
  list.engaged({ kind: "post", id: b.id, liked: true }); // another thing of the same id
  expect(list.comments.map((c) => [c.likes, c.liked])).toEqual([[0, false], [0, false], [1, true], [0, false]]);
  list.engaged({ kind: "comment", id: b.id, liked: false });
  expect(list.comments[2]).toMatchObject({ likes: 0, liked: false });
});
