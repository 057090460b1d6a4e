import { RialtoError, type Client, type UploadOptions } from "@rialto-im/client";
import { expect, test, vi } from "vitest";
import { isRetriable, leftMs, Speed, VideoUploads } from "../src/videoUploads.js";

/** A server whose uploads a test moves on. */
class Server {
  readonly uploads: { name: string; progress: (sent: number, total: number) => void; signal: AbortSignal; options: UploadOptions; done: (upload: string) => void; fail: (err: unknown) => void }[] = [];
  readonly created: string[] = [];
  readonly aborted: string[] = [];
  /** The next video is refused with it. */
  refusal: unknown;
  readonly client = {
    upload: (_: Blob, name: string, progress: (sent: number, total: number) => void, signal: AbortSignal, options: UploadOptions) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("cancelled")));
        this.uploads.push({ name, progress, signal, options, done: (upload) => resolve({ upload }), fail: reject });
      }),
    createVideo: async (upload: string) => {
      this.created.push(upload);
      const { refusal } = this;
      this.refusal = undefined;
      if (refusal) throw refusal;
      return { id: `video of ${upload}` };
    },
    abortUpload: async (upload: string) => void this.aborted.push(upload),
  } as unknown as Client;
}

const file = (name: string) => new File([new Uint8Array(1_000)], name);
const accepted = async () => undefined;
const settled = () => new Promise((resolve) => setTimeout(resolve));

test("a file becomes a video, with its progress, and nobody has to wait for it", async () => {
  const server = new Server();
  let now = 0;
  const uploads = new VideoUploads(server.client, () => now, accepted);
  const shown: number[] = [];
  uploads.subscribe(() => shown.push(uploads.all()[0]?.sent ?? -1));
  uploads.start("new", file("a.mp4"));
  await settled();
  now = 1_000;
  server.uploads[0]!.progress(250, 1_000);
  expect(uploads.all()).toMatchObject([{ slot: "new", name: "a.mp4", size: 1_000, sent: 250, bytesPerSecond: 250 }]);
  expect(leftMs(uploads.all()[0]!)).toBe(3_000);
  server.uploads[0]!.done("77");
  await settled();
  expect([uploads.all()[0]?.video, server.created, shown]).toEqual(["video of 77", ["77"], [0, 0, 250, 1_000]]);
  uploads.remove(uploads.all()[0]!.id);
  expect(uploads.all()).toEqual([]);
});

test("what failed is tried again, what was taken back makes no video, and a draft has one", async () => {
  const server = new Server();
  const uploads = new VideoUploads(server.client, undefined, accepted);
  uploads.start("new", file("a.mp4"));
  await settled();
  server.uploads[0]!.fail(new Error("offline"));
  await settled();
  expect(uploads.all()[0]?.error).toEqual(new Error("offline"));
  uploads.resume(uploads.all()[0]!.id);
  await settled();
  expect([uploads.all()[0]?.error, server.uploads.length]).toEqual([undefined, 2]);
  uploads.start("new", file("b.mp4"));
  await settled();
  uploads.start("videos", file("c.mp4"));
  await settled();
  expect([uploads.all().map((u) => u.name), server.uploads[1]!.signal.aborted]).toEqual([["b.mp4", "c.mp4"], true]);
  uploads.clear();
  server.uploads[2]!.done("78");
  await settled();
  expect([uploads.all(), server.created]).toEqual([[], []]);
});

test("a paused upload stops, keeps what has gone, and goes on with the same file", async () => {
  const server = new Server();
  const uploads = new VideoUploads(server.client, undefined, accepted);
  uploads.start("new", file("a.mp4"));
  await settled();
  const { id } = uploads.all()[0]!;
  server.uploads[0]!.progress(400, 1_000);
  uploads.pause(id);
  await settled();
  server.uploads[0]!.progress(500, 1_000); // an event that was on its way
  expect(uploads.all()).toMatchObject([{ paused: true, sent: 400 }]);
  expect(uploads.all()[0]?.error).toBe(undefined);
  expect(server.uploads[0]!.signal.aborted).toBe(true);
  uploads.resume(id);
  await settled();
  expect([uploads.all()[0]?.paused, server.uploads.map((u) => u.name)]).toEqual([false, ["a.mp4", "a.mp4"]]);
  server.uploads[1]!.done("79");
  await settled();
  expect([uploads.all()[0]?.video, server.created]).toEqual(["video of 79", ["79"]]);
});

test("two of several files go at once, and the next one when one is done, pauses or fails", async () => {
  const server = new Server();
  const uploads = new VideoUploads(server.client, undefined, accepted);
  const waiting = () => uploads.all().filter((u) => u.waiting).map((u) => u.name);
  for (const name of ["a", "b", "c", "d", "e"]) uploads.add("videos", file(name));
  await settled();
  expect([server.uploads.map((u) => u.name), waiting()]).toEqual([["a", "b"], ["c", "d", "e"]]);
  server.uploads[0]!.done("1");
  await settled();
  expect(waiting()).toEqual(["d", "e"]);
  uploads.pause(uploads.all()[1]!.id);
  expect(waiting()).toEqual(["e"]);
  uploads.resume(uploads.all()[1]!.id);
  await settled();
  expect(waiting()).toEqual(["b", "e"]);
  server.uploads[2]!.fail(new Error("offline"));
  await settled();
  expect([server.uploads.map((u) => u.name), waiting()]).toEqual([["a", "b", "c", "d", "b"], ["e"]]);
  uploads.clear();
  expect([uploads.all(), server.uploads.length, server.aborted]).toEqual([[], 5, []]);
});

test("what is taken back is dropped on the server, and what the user left is not", async () => {
  const server = new Server();
  const uploads = new VideoUploads(server.client, undefined, accepted);
  uploads.add("videos", file("a.mp4"));
  await settled();
  server.uploads[0]!.options.begun!("1");
  expect([uploads.all()[0]?.upload, server.uploads[0]!.options.purpose]).toEqual(["1", "video"]);
  uploads.cancel(uploads.all()[0]!.id);
  uploads.add("videos", file("b.mp4"));
  await settled();
  uploads.cancel(uploads.all()[0]!.id);
  server.uploads[1]!.options.begun!("2"); // the answer was on its way
  uploads.add("videos", file("c.mp4"));
  await settled();
  server.uploads[2]!.options.begun!("3");
  uploads.clear();
  await settled();
  expect([server.aborted, uploads.all()]).toEqual([["1", "2"], []]);
});

test("an unfinished upload is continued; one of another file stays, and is not dropped", async () => {
  const server = new Server();
  const uploads = new VideoUploads(server.client, undefined, accepted);
  uploads.add("videos", file("a.mp4"), "7");
  await settled();
  expect(server.uploads[0]!.options.upload).toBe("7");
  server.uploads[0]!.fail(new RialtoError("already_exists", "another file", "part_differs"));
  await settled();
  expect([uploads.all()[0]?.upload, isRetriable(uploads.all()[0]?.error)]).toEqual([undefined, false]);
  uploads.cancel(uploads.all()[0]!.id);
  expect(server.aborted).toEqual([]);
});

test("a complete upload is not sent again because no video could be made of it yet, but if its file is gone", async () => {
  const server = new Server();
  const uploads = new VideoUploads(server.client, undefined, accepted);
  uploads.add("videos", file("a.mp4"));
  await settled();
  server.refusal = new RialtoError("resource_exhausted", "too many", "too_many_videos");
  server.uploads[0]!.done("7");
  await settled();
  const { id, error } = uploads.all()[0]!;
  expect(isRetriable(error)).toBe(true);
  server.refusal = new RialtoError("not_found", "there is none", "no_upload");
  uploads.resume(id);
  await settled();
  expect([server.created, server.uploads.length]).toEqual([["7", "7"], 1]);
  uploads.resume(id);
  await settled();
  expect(server.uploads.length).toBe(2);
  server.uploads[1]!.done("8");
  await settled();
  expect(uploads.all()[0]?.video).toBe("video of 8");
});

test("a file that cannot be a video is refused before any of it is sent", async () => {
  const server = new Server();
  const uploads = new VideoUploads(server.client);
  uploads.add("videos", file("zeros.mp4"));
  await vi.waitFor(() => expect(uploads.all()[0]?.error).toMatchObject({ reason: "not_a_video" }));
  expect([server.uploads.length, isRetriable(uploads.all()[0]?.error)]).toEqual([0, false]);
});

test("a speed follows what happens, without jumps", () => {
  const speed = new Speed(0);
  expect(speed.measure(100, 100)).toBe(0); // too soon
  expect(speed.measure(1_000, 1_000)).toBe(1_000);
  const faster = speed.measure(4_000, 2_000);
  expect(faster).toBeGreaterThan(1_500);
  expect(faster).toBeLessThan(2_500);
  expect(speed.measure(0, 3_000)).toBe(faster); // it began again
});
