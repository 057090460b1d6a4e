import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { post } from "../../src/http.js";
import { RialtoError } from "../../src/errors.js";
import { UserSchema } from "../../src/gen/rialto/account/v1/account_pb.js";
import { FileType, HitKind, HitSchema, SearchResponseSchema, SearchService, type SearchRequest, type SearchResponse } from "../../src/gen/rialto/search/v1/search_pb.js";
import type { Context } from "../../src/operations/context.js";
import { search } from "../../src/operations/search.js";
import { LiveSearch, hitKey, type SearchPage } from "../../src/search.js";

/** A server that answers when a test says so. */
class Server {
  readonly asked: (SearchPage & { signal: AbortSignal; answer: (a: SearchResponse) => void; fail: (err: unknown) => void })[] = [];
  readonly live = new LiveSearch({
    read: (page, { signal }) => new Promise((answer, fail) => void this.asked.push({ ...page, signal: signal!, answer, fail })),
    onChange: () => {},
  });

  /** What is shown, as ids of messages. */
  get shown(): string {
    return this.live.state.groups.map((g) => `${HitKind[g.kind]}: ${g.hits.map((h) => h.message!.seq).join(" ")}${g.next && " …"}`).join("; ");
  }
}

const messages = (seqs: number[], next = "", kind = HitKind.MESSAGE) => create(SearchResponseSchema, { groups: [{ kind, hits: seqs.map((n) => ({ message: { conversation: "7", seq: BigInt(n) } })), next }] });

test("the last query wins, whatever comes first, and the ones before are cancelled", async () => {
  const s = new Server();
  const first = s.live.search({ text: "a" });
  const second = s.live.search({ text: "ab" });
  expect(s.asked.map((a) => a.signal.aborted)).toEqual([true, false]);
  s.asked[1]!.answer(messages([2]));
  await second;
  s.asked[0]!.answer(messages([1]));
  await first;
  expect([s.shown, s.live.state.answered?.text, s.live.state.searching]).toEqual(["MESSAGE: 2", "ab", false]);
  const third = s.live.search({ text: "abc" });
  const fourth = s.live.search({ text: "abcd" });
  s.asked[2]!.fail(new RialtoError("canceled", "cancelled"));
  await third;
  expect([s.shown, s.live.state.searching, s.live.state.error]).toEqual(["MESSAGE: 2", true, undefined]); // what is known stays until the answer
  s.asked[3]!.answer(messages([4]));
  await fourth;
  expect(s.shown).toBe("MESSAGE: 4");
});

test("more hits of a kind are read for the query that was answered, past empty pages, each once", async () => {
  const s = new Server();
  const found = s.live.search({ text: "a", kinds: [HitKind.MESSAGE, HitKind.POST], typing: true });
  s.asked[0]!.answer(messages([1, 2], "p1"));
  await found;
  const more = s.live.more(HitKind.MESSAGE);
  await s.live.more(HitKind.MESSAGE); // one is under way
  expect(s.live.state.loadingMore).toBe(HitKind.MESSAGE);
  s.asked[1]!.answer(messages([2], "p2")); // the order has changed meanwhile
  await Promise.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  s.asked[2]!.answer(messages([3]));
  await more;
  expect(s.asked.slice(1).map(({ query, page }) => [query, page])).toEqual([
    [{ text: "a", kinds: [HitKind.MESSAGE], typing: true }, "p1"],
    [{ text: "a", kinds: [HitKind.MESSAGE], typing: true }, "p2"],
  ]);
  expect([s.shown, s.live.state.loadingMore]).toEqual(["MESSAGE: 1 2 3", undefined]);
  await s.live.more(HitKind.MESSAGE);
  expect(s.asked).toHaveLength(3);
});

test("a group whose first page is empty is read on, before the query counts as answered", async () => {
  const s = new Server();
  const found = s.live.search({ text: "a" });
  s.asked[0]!.answer(create(SearchResponseSchema, { groups: [...messages([], "p1").groups, ...messages([5], "", HitKind.POST).groups] }));
  await new Promise((resolve) => setImmediate(resolve));
  expect([s.asked[1]!.page, s.shown, s.live.state.searching]).toEqual(["p1", "MESSAGE:  …; POST: 5", true]);
  s.asked[1]!.answer(messages([1], "p2"));
  await found;
  expect([s.asked.length, s.shown, s.live.state.searching]).toEqual([2, "MESSAGE: 1 …; POST: 5", false]);
});

test("a query that replaces another ends the reading of its pages", async () => {
  const s = new Server();
  const found = s.live.search({ text: "a" });
  s.asked[0]!.answer(messages([1], "p1"));
  await found;
  const more = s.live.more(HitKind.MESSAGE);
  const next = s.live.search({ text: "b" });
  expect(s.asked[1]!.signal.aborted).toBe(true);
  s.asked[1]!.answer(messages([9]));
  await more;
  s.asked[2]!.answer(messages([5]));
  await next;
  expect([s.shown, s.live.state.loadingMore]).toEqual(["MESSAGE: 5", undefined]);
});

test("an error is shown with no hits of other queries, one of a next page with those that were found", async () => {
  const s = new Server();
  const found = s.live.search({ text: "a" });
  s.asked[0]!.answer(messages([1], "p1"));
  await found;
  const more = s.live.more(HitKind.MESSAGE);
  s.asked[1]!.fail(new RialtoError("unavailable", "offline"));
  await more;
  expect([s.shown, s.live.state.error?.code]).toEqual(["MESSAGE: 1 …", "unavailable"]);
  const bad = s.live.search({ text: "in:" });
  s.asked[2]!.fail(new RialtoError("invalid_argument", "write a value after in:", "bad_query"));
  await bad;
  expect([s.shown, s.live.state.error?.reason, s.live.state.answered]).toEqual(["", "bad_query", undefined]);
  s.live.clear();
  expect([s.live.state.error, s.live.state.query]).toEqual([undefined, undefined]);
});

test("filters are sent as fields, and users of the answer are known", async () => {
  const asked: SearchRequest[] = [];
  const known: string[] = [];
  const hit = create(HitSchema, { text: "Bob @bob", user: create(UserSchema, { id: "22", displayName: "Bob" }) });
  const searchApi = { search: async (q: SearchRequest) => (asked.push(q), create(SearchResponseSchema, { groups: [{ kind: HitKind.USER, hits: [hit] }] })) };
  const { search: run } = search({ services: { searchApi }, people: { take: (users: { id: string }[]) => known.push(...users.map((u) => u.id)) } } as unknown as Context);
  await run({ query: { text: "添加", typing: true, kinds: [HitKind.USER], from: ["5"], conversation: "7", beforeMs: 20, afterMs: 10, hasLink: true, fileTypes: [FileType.IMAGE] }, limit: 20, page: "p" });
  await run({ query: { text: "x" } });
  expect(asked).toEqual([
    { query: "添加", typing: true, kinds: [HitKind.USER], from: ["5"], conversation: "7", beforeMs: 20n, afterMs: 10n, hasLink: true, fileTypes: [FileType.IMAGE], limit: 20, page: "p" },
    { query: "x", typing: false, kinds: [], from: [], conversation: "0", beforeMs: 0n, afterMs: 0n, hasLink: false, fileTypes: [], limit: 0, page: "" },
  ]);
  expect(known).toEqual(["22", "22"]);
  expect(hitKey(hit)).toBe("user/22");
});

test("a cancelled call says so, and does not ask whether the server is there", async () => {
  const calls: string[] = [];
  const abort = new AbortController();
  const fetchFn = ((url: string, { signal }: RequestInit) => {
    calls.push(url);
    return new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason)));
  }) as typeof fetch;
  const call = post("https://chat.example.com", SearchService.method.search, { query: "a" }, "token", fetchFn, { signal: abort.signal });
  abort.abort();
  await expect(call).rejects.toMatchObject({ code: "canceled", reason: "canceled", retryMs: 0 });
  expect(calls).toHaveLength(1);
});

test("a file is another hit than its message, and a video than its post", () => {
  const keys = [{ message: { conversation: "7", seq: 1n } }, { message: { conversation: "7", seq: 1n }, file: {} }, { post: { id: "9" } }, { post: { id: "9" }, video: { id: "3" } }].map((h) => hitKey(create(HitSchema, h)));
  expect(keys).toEqual(["message/7/1", "file/7/1", "post/9", "video/9"]);
});
