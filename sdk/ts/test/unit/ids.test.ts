import { expect, test } from "vitest";
import { Ids, RialtoError } from "../../src/index.js";

/** Gives 1, 2, 3 … as the server does, and notes what it was asked. */
function fake(): { asked: { tag: string; count: string; key?: string }[]; fail: boolean; fetch: typeof fetch } {
  let last = 0n;
  const f = {
    asked: [] as { tag: string; count: string; key?: string }[],
    fail: false,
    fetch: (async (_url: string, init: RequestInit) => {
      if (f.fail) {
        f.fail = false;
        return new Response(JSON.stringify({ code: "unavailable", message: "away" }), { status: 503 });
      }
      if ((init.headers as Record<string, string>)["Authorization"] !== "Bearer rk_good") return new Response(JSON.stringify({ code: "unauthenticated" }), { status: 401 });
      const r = JSON.parse(init.body as string) as { tag: string; count: string; key?: string };
      f.asked.push(r);
      const numbers: string[] = [];
      for (let i = 0; i < Number(r.count); i++) numbers.push(String(++last + (1n << 60n)));
      return new Response(JSON.stringify(r.tag === "ulid" ? { texts: numbers } : { numbers }));
    }) as typeof fetch,
  };
  return f;
}

test("numbers come whole, buffered, once each, also to those who ask at the same time", async () => {
  const f = fake();
  const ids = new Ids({ url: "http://127.0.0.1:1/", key: "rk_good", buffer: 3, fetch: f.fetch });
  const got = await Promise.all(Array.from({ length: 7 }, () => ids.next("orders")));
  expect(got).toEqual([1n, 2n, 3n, 4n, 5n, 6n, 7n].map((n) => n + (1n << 60n)));
  expect(f.asked.map((r) => r.count)).toEqual(["3", "3", "3"]);
});

test("a failure is told to those who wait, and forgotten", async () => {
  const f = fake();
  const ids = new Ids({ url: "http://127.0.0.1:1", key: "rk_good", buffer: 2, fetch: f.fetch });
  f.fail = true;
  const both = await Promise.allSettled([ids.next("orders"), ids.next("orders")]);
  expect(both.map((r) => r.status)).toEqual(["rejected", "rejected"]);
  expect(await ids.next("orders")).toBe((1n << 60n) + 1n);
  await expect(new Ids({ url: "http://127.0.0.1:1", key: "rk_bad", fetch: f.fetch }).next("orders")).rejects.toMatchObject({ code: "unauthenticated" });
});

test("texts are no numbers, sequences have keys, and buffers have a size", async () => {
  const f = fake();
  const ids = new Ids({ url: "http://127.0.0.1:1", key: "rk_good", fetch: f.fetch });
  expect(await ids.texts("ulid", 2)).toHaveLength(2);
  expect(await ids.numbers("sequence", 2, 42n)).toHaveLength(2);
  expect(f.asked.at(-1)).toEqual({ tag: "sequence", count: "2", key: "42" });
  await expect(ids.numbers("ulid", 2)).rejects.toBeInstanceOf(RialtoError);
  await expect(ids.texts("orders", 2)).rejects.toBeInstanceOf(RialtoError);
  for (const buffer of [0, -1, 1.5, 10_001]) expect(() => new Ids({ url: "http://127.0.0.1:1", key: "k", buffer })).toThrow(RangeError);
});
