import { RialtoError, type Upload } from "@rialto-im/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Uploads, type Port } from "../src/uploads.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const file = (name: string) => new File(["x"], name);

/** A server that answers each upload as told; what it was sent is in `sent`. */
function port(answer: (name: string, n: number) => Error | undefined) {
  const sent: string[] = [];
  let calls = 0;
  const p: Port = {
    async upload(_file, name, progress, signal) {
      progress?.(1, 2);
      const err = answer(name, ++calls);
      if (err) throw err;
      signal?.throwIfAborted();
      return { upload: "1", name, mimeType: "", size: 1n, width: name.endsWith(".png") ? 4 : 0, height: 0 } as Upload;
    },
    async send(conversation, content) {
      sent.push(`${conversation} ${content.case} ${(content.value as { name: string }).name}`);
    },
  };
  return { p, sent };
}

test("files go one after the other, in order, each once", async () => {
  const { p, sent } = port(() => undefined);
  const u = new Uploads(p);
  u.add("1", file("a.png"));
  u.add("2", file("b.txt"));
  u.add("1", file("c.png"));
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["1 image a.png", "2 file b.txt", "1 image c.png"]);
  expect(u.all()).toEqual([]);
});

test("without a network they wait, and go in the same order when it is back", async () => {
  let offline = true;
  const { p, sent } = port(() => (offline ? new RialtoError("unavailable", "no network") : undefined));
  const u = new Uploads(p);
  u.add("1", file("a"));
  u.add("1", file("b"));
  await vi.advanceTimersByTimeAsync(10_000);
  expect(sent).toEqual([]);
  expect(u.all().map((x) => x.waiting)).toEqual([true, false]);
  offline = false;
  u.wake();
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["1 file a", "1 file b"]);
});

test("what is refused stays with its reason and does not hold up the others", async () => {
  const { p, sent } = port((name, n) => (name === "big" && n === 1 ? new RialtoError("invalid_argument", "too large") : undefined));
  const u = new Uploads(p);
  u.add("1", file("big"));
  u.add("1", file("b"));
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["1 file b"]);
  expect(u.all()).toMatchObject([{ error: { message: "too large" } }]);
  u.retry(u.all()[0]!.id);
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["1 file b", "1 file big"]);
});

test("what is taken back is not sent", async () => {
  const { p, sent } = port(() => undefined);
  const u = new Uploads(p);
  u.add("1", file("a"));
  u.add("1", file("b"));
  u.cancel(u.all()[0]!.id);
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["1 file b"]);
  expect(u.all()).toEqual([]);
});
