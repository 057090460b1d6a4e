import type { Client } from "@rialto-im/client";
import { expect, test } from "vitest";
import { leftMs, Speed, VideoUploads } from "../src/videoUploads.js";

/** A server whose uploads a test moves on. */
class Server {
  readonly uploads: { name: string; progress: (sent: number, total: number) => void; signal: AbortSignal; done: (upload: string) => void; fail: (err: unknown) => void }[] = [];
  readonly created: string[] = [];
  readonly client = {
    upload: (_: Blob, name: string, progress: (sent: number, total: number) => void, signal: AbortSignal) =>
      new Promise((resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("cancelled")));
        this.uploads.push({ name, progress, signal, done: (upload) => resolve({ upload }), fail: reject });
      }),
    createVideo: async (upload: string) => {
      this.created.push(upload);
      return { id: `video of ${upload}` };
    },
  } as unknown as Client;
}

const file = (name: string) => new File([new Uint8Array(1_000)], name);
const settled = () => new Promise((resolve) => setTimeout(resolve));

test("a file becomes a video, with its progress, and nobody has to wait for it", async () => {
  const server = new Server();
  let now = 0;
  const uploads = new VideoUploads(server.client, () => now);
  const shown: number[] = [];
  uploads.subscribe(() => shown.push(uploads.all()[0]?.sent ?? -1));
  uploads.start("new", file("a.mp4"));
  now = 1_000;
  server.uploads[0]!.progress(250, 1_000);
  expect(uploads.all()).toMatchObject([{ slot: "new", name: "a.mp4", size: 1_000, sent: 250, bytesPerSecond: 250 }]);
  expect(leftMs(uploads.all()[0]!)).toBe(3_000);
  server.uploads[0]!.done("77");
  await settled();
  expect([uploads.all()[0]?.video, server.created, shown]).toEqual(["video of 77", ["77"], [0, 250, 1_000]]);
  uploads.remove(uploads.all()[0]!.id);
  expect(uploads.all()).toEqual([]);
});

test("what failed is tried again, what was taken back makes no video, and a draft has one", async () => {
  const server = new Server();
  const uploads = new VideoUploads(server.client);
  uploads.start("new", file("a.mp4"));
  server.uploads[0]!.fail(new Error("offline"));
  await settled();
  expect(uploads.all()[0]?.error).toEqual(new Error("offline"));
  uploads.resume(uploads.all()[0]!.id);
  expect([uploads.all()[0]?.error, server.uploads.length]).toEqual([undefined, 2]);
  uploads.start("new", file("b.mp4"));
  uploads.start("videos", file("c.mp4"));
  expect([uploads.all().map((u) => u.name), server.uploads[1]!.signal.aborted]).toEqual([["b.mp4", "c.mp4"], true]);
  uploads.clear();
  server.uploads[2]!.done("78");
  await settled();
  expect([uploads.all(), server.created]).toEqual([[], []]);
});

test("a paused upload stops, keeps what has gone, and goes on with the same file", async () => {
  const server = new Server();
  const uploads = new VideoUploads(server.client);
  uploads.start("new", file("a.mp4"));
  const { id } = uploads.all()[0]!;
  server.uploads[0]!.progress(400, 1_000);
  uploads.pause(id);
  await settled();
  server.uploads[0]!.progress(500, 1_000); // an event that was on its way
  expect(uploads.all()).toMatchObject([{ paused: true, sent: 400 }]);
  expect(uploads.all()[0]?.error).toBe(undefined);
  expect(server.uploads[0]!.signal.aborted).toBe(true);
  uploads.resume(id);
  expect([uploads.all()[0]?.paused, server.uploads.map((u) => u.name)]).toEqual([false, ["a.mp4", "a.mp4"]]);
  server.uploads[1]!.done("79");
  await settled();
  expect([uploads.all()[0]?.video, server.created]).toEqual(["video of 79", ["79"]]);
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
