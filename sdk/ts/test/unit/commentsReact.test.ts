// @vitest-environment happy-dom
import { create } from "@bufbuild/protobuf";
import { act, createElement, useLayoutEffect, useState, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RialtoError } from "../../src/errors.js";
import { CommentContentSchema, CommentSchema, type Comment } from "../../src/gen/rialto/comment/v1/comment_pb.js";
import type { Context } from "../../src/operations/context.js";
import { comments } from "../../src/operations/comments.js";
import { RialtoProvider, useCommentCount, useComments, useReplies } from "../../src/react/index.js";
import { FakeClient } from "./fakeClient.js";

const comment = (id: string, text: string, top = "0") => create(CommentSchema, { id, subject: "50", author: "8", top, replyTo: top, content: create(CommentContentSchema, { text }) });

/** A client of user 7, with a server of comments on post 50. */
class CommentClient extends FakeClient {
  readonly me = "7";
  fails = false;
  all: Comment[] = [comment("60", "first"), comment("61", "second")];

  constructor() {
    super();
    const answer = (name: string, q: { comment?: string; content?: { text: string }; replyTo?: string }): unknown => {
      if (this.fails) throw new RialtoError("invalid_argument", "no", "bad_comment");
      switch (name) {
        case "listComments":
          return { comments: this.all.filter((c) => c.top === "0").map((c) => ({ ...c, replies: this.all.filter((r) => r.top === c.id).length })).reverse(), next: "" };
        case "listReplies":
          return { replies: this.all.filter((c) => c.top === q.comment), next: "" };
        case "createComment":
          this.all.push(comment(String(60 + this.all.length), q.content!.text, q.replyTo));
          return this.all.at(-1);
        default:
          return {};
      }
    };
    const commentApi = new Proxy({}, { get: (_, name: string) => async (q: object) => answer(name, q) });
    Object.assign(this, comments({ services: { commentApi }, options: { random: () => 0 }, snapshots: { touch: () => void this.set({}) }, me: () => "7" } as unknown as Context));
  }

  watchPosts = () => () => {};
}

let client: CommentClient;
let root: Root;

beforeEach(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  client = new CommentClient();
  root = createRoot(document.createElement("div"));
});
afterEach(() => act(() => root.unmount()));

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

const texts = (list: readonly Comment[]) => list.map((c) => c.content?.text);

test("comments are read when the client is online, and again when somebody returns to the page", async () => {
  const shown = await render(() => useComments("50", "newest"));
  expect([shown().loading, shown().comments.length]).toEqual([true, 0]);
  await act(() => client.set({ connection: "online" }));
  await act(() => client.frame());
  expect([shown().loading, texts(shown().comments)]).toEqual([false, ["second", "first"]]);
  client.all.push(comment("70", "of another"));
  await act(async () => void document.dispatchEvent(new Event("visibilitychange")));
  await act(() => client.frame());
  expect(texts(shown().comments)).toEqual(["of another", "second", "first"]);
});

test("a comment is outgoing until it is stored, counts at once, and stays outgoing if it is refused", async () => {
  const shown = await render(() => ({ ...useComments("50", "newest"), n: useCommentCount({ id: "50", comments: 2 }) }));
  await act(() => client.set({ connection: "online" }));
  await act(() => client.frame());
  await act(async () => void (await client.asClient().createComment("50", { text: "mine" })));
  await act(() => client.frame());
  expect([texts(shown().comments), shown().outgoing.length, shown().n]).toEqual([["mine", "second", "first"], 0, 3]);
  client.fails = true;
  await act(async () => void (await client.asClient().createComment("50", { text: "refused" }).catch(() => {})));
  await act(() => client.frame());
  expect([shown().comments.length, shown().outgoing.map((o) => o.failed?.reason), shown().n]).toEqual([3, ["bad_comment"], 3]);
});

test("replies are read once they are wanted, and those written here are in their thread alone", async () => {
  const top = client.all[0]!;
  client.all.push(comment("62", "reply", "60"));
  const shown = await render(() => {
    const [wanted, want] = useState(false);
    return { tops: useComments("50", "oldest"), replies: useReplies(top, wanted), want };
  });
  await act(() => client.set({ connection: "online" }));
  await act(() => client.frame());
  expect([shown().replies.comments.length, shown().replies.loading]).toEqual([0, false]);
  await act(async () => shown().want(true));
  for (const connection of ["connecting", "online"] as const) { // a change, so that the component is rendered
    await act(() => client.set({ connection }));
    await act(() => client.frame());
  }
  expect(texts(shown().replies.comments)).toEqual(["reply"]);
  await act(async () => void (await client.asClient().createComment("50", { text: "answer" }, { replyTo: top })));
  await act(() => client.frame());
  expect([texts(shown().replies.comments), shown().tops.comments.find((c) => c.id === top.id)?.replies]).toEqual([["reply", "answer"], 2]);
});
