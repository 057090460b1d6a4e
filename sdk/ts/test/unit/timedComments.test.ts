import { beforeEach, expect, test, vi } from "vitest";
import { RialtoError } from "../../src/errors.js";
import type { Context } from "../../src/operations/context.js";
import { timedComments } from "../../src/operations/timedComments.js";

let calls: [string, Record<string, unknown>][] = [];
let lost = 0;
let ops: ReturnType<typeof timedComments>;

beforeEach(() => {
  [calls, lost] = [[], 0];
  const commentApi = new Proxy({}, {
    get: (_, name: string) => async (q: Record<string, unknown>) => {
      calls.push([name, q]);
      if (lost-- > 0) throw new RialtoError("unavailable", "offline");
      return name === "listTimedComments" ? { comments: [{ id: "1" }] } : { id: "2" };
    },
  });
  ops = timedComments({ services: { commentApi }, options: { random: () => 0 }, me: () => "7" } as unknown as Context);
});

test("a comment on a video whose answer was lost is created once", async () => {
  vi.useFakeTimers();
  lost = 1;
  const created = ops.createTimedComment({ post: "3", video: "5", timeMs: 1_500.4, text: "hello" });
  await vi.advanceTimersByTimeAsync(10_000);
  vi.useRealTimers();
  expect((await created).id).toBe("2");
  expect(calls.length).toBe(2);
  expect(calls[0]![1]).toMatchObject({ subject: "3", video: "5", timeMs: 1_500, content: { text: "hello" } });
  expect(calls[1]![1]).toEqual(calls[0]![1]);
});

test("windows are read, and comments deleted", async () => {
  expect(await ops.timedComments("3", "5", 0, 10_000)).toEqual([{ id: "1" }]);
  await ops.deleteTimedComment("1");
  expect(calls).toEqual([["listTimedComments", { post: "3", video: "5", fromMs: 0, toMs: 10_000 }], ["deleteComment", { comment: "1" }]]);
});
