import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RialtoError } from "../../src/errors.js";
import type { Upload } from "../../src/gen/rialto/chat/v1/media_pb.js";
import type { Content } from "../../src/gen/rialto/chat/v1/message_pb.js";
import { memoryStorage, type Store } from "../../src/storage.js";
import { uploadContent, Uploads, type UploadsDeps } from "../../src/uploads.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const file = new Blob(["x"]);
const offline = new RialtoError("unavailable", "no network");
let store: Store;
let sent: string[];
let contents: Content["kind"][];
/** The locks of the browser: what waits for each name. */
let locks: Map<string, Promise<void>>;

beforeEach(async () => {
  store = await memoryStorage().open("me");
  sent = [];
  contents = [];
  locks = new Map();
});

/** One window, whose uploads are answered as told. */
async function opened(answer: (name: string, n: number) => Error | undefined = () => undefined, change: Partial<UploadsDeps> = {}): Promise<Uploads> {
  let calls = 0;
  const u = new Uploads({
    store,
    async upload(_file, name, progress, signal) {
      progress?.(1, 2, { bytesPerSecond: 1 });
      const err = answer(name, ++calls);
      if (err) throw err;
      signal?.throwIfAborted();
      return { upload: "1", name, mimeType: name.endsWith(".mp4") ? "video/mp4" : "", size: 1n, width: name.endsWith(".png") ? 4 : 0, height: 0 } as Upload;
    },
    async enqueue(conversation, content, ops) {
      contents.push(content);
      const { name, caption } = content.value as { name: string; caption: string };
      await store.write(ops);
      sent.push([conversation, content.case, name, caption].filter(Boolean).join(" "));
    },
    exclusive(id, work) {
      locks.set(id, (locks.get(id) ?? Promise.resolve()).then(work));
    },
    onChange() {},
    ...change,
  });
  await u.load();
  return u;
}

test("files go one after the other, in order, each once", async () => {
  const u = await opened();
  await Promise.all([u.add("1", [{ file, name: "a.png" }], "at sea"), u.add("2", [{ file, name: "b.txt" }]), u.add("1", [{ file, name: "c.png" }])]);
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["1 image a.png at sea", "2 file b.txt", "1 image c.png"]);
  expect(u.all()).toEqual([]);
  expect(await store.list("uploads")).toEqual([]);
});

test("without a network they wait, and go in the same order when it is back", async () => {
  let answer: Error | undefined = offline;
  const u = await opened(() => answer);
  await u.add("1", [{ file, name: "a" }]);
  await u.add("1", [{ file, name: "b" }]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(sent).toEqual([]);
  expect(u.all().map((x) => x.waiting)).toEqual([true, false]);
  answer = undefined;
  u.wake();
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["1 file a", "1 file b"]);
});

test("what waits survives a reload, and goes in the same order", async () => {
  const before = await opened(() => offline);
  await before.add("1", [{ file, name: "a.png" }], "at sea");
  await before.add("1", [{ file, name: "b" }]);
  await vi.advanceTimersByTimeAsync(0);
  before.stop();
  const after = await opened();
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["1 image a.png at sea", "1 file b"]);
  expect(after.all()).toEqual([]);
});

test("of two windows one sends, and when it is closed the other goes on", async () => {
  const first = await opened(() => offline);
  await first.add("1", [{ file, name: "a" }]);
  await vi.advanceTimersByTimeAsync(0);
  const second = await opened();
  await vi.advanceTimersByTimeAsync(0);
  expect([first.all().length, second.all().length, sent.length]).toEqual([1, 0, 0]);
  first.stop();
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["1 file a"]);
});

test("a client that is closed while it opens keeps no upload from the next one", async () => {
  await (await opened(() => offline)).add("1", [{ file, name: "a" }]);
  locks.clear(); // the page was closed
  let answer = () => {};
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const slow = Object.create(store, { get: { value: (...args: Parameters<Store["get"]>) => answered.then(() => store.get(...args)) } }) as Store;
  const closed = await opened(() => offline, { store: slow });
  closed.stop();
  answer();
  await opened();
  await vi.advanceTimersByTimeAsync(0);
  expect(sent).toEqual(["1 file a"]);
});

test("what one window has sent, another that waited for it does not send again", async () => {
  let answer: Error | undefined = offline;
  const first = await opened(() => answer);
  await first.add("1", [{ file, name: "a" }]);
  const second = await opened();
  answer = undefined;
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["1 file a"]);
  expect(second.all()).toEqual([]);
});

test("what is refused stays with its reason and does not hold up the others", async () => {
  const u = await opened((name, n) => (name === "big" && n === 1 ? new RialtoError("invalid_argument", "too large") : undefined));
  await u.add("1", [{ file, name: "big" }]);
  await u.add("1", [{ file, name: "b" }]);
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["1 file b"]);
  expect(u.all()).toMatchObject([{ error: { message: "too large" } }]);
  u.retry(u.all()[0]!.id);
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["1 file b", "1 file big"]);
});

test("what is taken back is not sent, not even after a reload", async () => {
  const u = await opened(() => offline);
  await u.add("1", [{ file, name: "a" }]);
  await u.add("1", [{ file, name: "b" }]);
  await u.cancel(u.all()[0]!.id);
  u.stop();
  await opened();
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["1 file b"]);
});

test("what the device cannot store is sent, and says that it is not kept", async () => {
  const full = Object.create(store, { write: { value: () => Promise.reject(new Error("quota")) } }) as Store;
  let answer: Error | undefined = offline;
  const u = await opened(() => answer, { store: full });
  await u.add("1", [{ file, name: "a" }]);
  await vi.advanceTimersByTimeAsync(0);
  expect(u.all()).toMatchObject([{ kept: false, waiting: true }]);
  answer = undefined;
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["1 file a"]);
});

test("a recording is a voice message, and a video has its poster", async () => {
  const u = await opened();
  await u.add("1", [{ file, name: "voice", durationMs: 1500.4, waveform: new Uint8Array([1, 255]) }]);
  await u.add("1", [{ file, name: "a.mp4", durationMs: 3000, poster: { file, width: 640, height: 360 } }], "waves");
  await vi.runAllTimersAsync();
  expect(contents).toMatchObject([
    { case: "voice", value: { upload: "1", durationMs: 1500, waveform: new Uint8Array([1, 255]) } },
    { case: "video", value: { upload: "1", durationMs: 3000, poster: "1", width: 640, height: 360, caption: "waves" } },
  ]);
});

test("an album is one message, also after a reload", async () => {
  const before = await opened(() => offline);
  await before.add("1", [{ file, name: "a.png" }, { file, name: "b.mp4" }], "both");
  await vi.advanceTimersByTimeAsync(0);
  before.stop();
  for (const release of locks.values()) await release;
  const after = await opened();
  await vi.runAllTimersAsync();
  expect(contents).toMatchObject([{ case: "album", value: { caption: "both", items: [{ kind: { case: "image", value: { name: "a.png", caption: "" } } }, { kind: { case: "video", value: { name: "b.mp4" } } }] } }]);
  expect(after.all()).toEqual([]);
});

test("an album of other files is refused, and none of it is sent", async () => {
  const u = await opened();
  await u.add("1", [{ file, name: "a.png" }, { file, name: "b.txt" }]);
  await vi.runAllTimersAsync();
  expect(sent).toEqual([]);
  expect(u.all()).toMatchObject([{ error: { reason: "bad_content" } }]);
});

test("a paused file is not sent, also after a reload, and others are", async () => {
  const before = await opened(() => offline);
  await before.add("1", [{ file, name: "a" }]);
  await before.add("1", [{ file, name: "b" }]);
  await vi.advanceTimersByTimeAsync(0);
  await before.pause(before.all()[0]!.id);
  before.stop();
  const after = await opened();
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["1 file b"]);
  expect(after.all()).toMatchObject([{ name: "a", paused: true }]);
  await after.resume(after.all()[0]!.id);
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["1 file b", "1 file a"]);
});

test("pausing a file on its way interrupts it", async () => {
  let interrupted = 0;
  const u = await opened(undefined, {
    upload: (_file, name, progress, signal) =>
      new Promise((resolve, reject) => {
        progress?.(1, 2, { bytesPerSecond: 100 });
        if (interrupted > 0) return resolve({ upload: "1", name, mimeType: "", size: 1n, width: 0, height: 0 } as Upload);
        signal!.addEventListener("abort", () => {
          interrupted++;
          reject(new RialtoError("cancelled", "the upload was cancelled", "cancelled"));
        });
      }),
  });
  await u.add("1", [{ file, name: "a" }]);
  await vi.advanceTimersByTimeAsync(0);
  expect(u.all()).toMatchObject([{ speed: { bytesPerSecond: 100, remainingMs: 0 } }]);
  await u.pause(u.all()[0]!.id);
  await vi.advanceTimersByTimeAsync(0);
  expect([interrupted, sent.length]).toEqual([1, 0]);
  const [paused] = u.all();
  expect([paused?.paused, paused?.speed, paused?.error]).toEqual([true, undefined, undefined]);
  await u.resume(u.all()[0]!.id);
  await vi.runAllTimersAsync();
  expect(sent).toEqual(["1 file a"]);
});

test("what is sent later has the content that it would have now: a file with its caption, or an album with one caption", async () => {
  const uploaded: string[] = [];
  const upload = async (_file: Blob, name: string): Promise<Upload> => {
    uploaded.push(name);
    return { upload: `${uploaded.length}`, name, mimeType: name.endsWith(".mp4") ? "video/mp4" : "", size: 1n, width: name.endsWith(".png") ? 4 : 0, height: 0 } as Upload;
  };
  expect(await uploadContent([{ file, name: "a.png" }], "at sea", upload)).toMatchObject({ case: "image", value: { upload: "1", caption: "at sea" } });
  const album = await uploadContent([{ file, name: "b.png" }, { file, name: "c.mp4", poster: { file, width: 4, height: 3 } }], "both", upload);
  expect(album).toMatchObject({ case: "album", value: { caption: "both", items: [{ kind: { case: "image", value: { upload: "2", caption: "" } } }, { kind: { case: "video", value: { upload: "4", poster: "3" } } }] } });
  await expect(uploadContent([{ file, name: "d.png" }, { file, name: "e.txt" }], "", upload)).rejects.toMatchObject({ reason: "bad_content" });
  await expect(uploadContent([], "", upload)).rejects.toMatchObject({ reason: "bad_content" });
  expect(uploaded).toEqual(["a.png", "b.png", "poster", "c.mp4", "d.png", "e.txt"]);
});
