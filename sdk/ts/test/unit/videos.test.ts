// @vitest-environment happy-dom
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { act, createElement, useLayoutEffect, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RialtoError } from "../../src/errors.js";
import { VideoSchema, VideoState, VideoStepKind, type Video } from "../../src/gen/rialto/video/v1/video_pb.js";
import type { Context } from "../../src/operations/context.js";
import { videos } from "../../src/operations/videos.js";
import { RialtoProvider, useOwnVideos, useVideo, useWatchedVideos } from "../../src/react/index.js";
import { FakeClient } from "./fakeClient.js";

const video = (id: string, fields: MessageInitShape<typeof VideoSchema> = {}) => create(VideoSchema, { id, owner: "7", state: VideoState.PROCESSING, ...fields });
const playback = (expiresMs: number) => ({ hlsUrl: "/v1/video/5/sig/master.m3u8", expiresMs: BigInt(expiresMs) });
const steps = (done: number) => [{ kind: VideoStepKind.ENCODE, rendition: "240p", total: 4, done }];

/** A client of user 7, and a server of videos whose answers a test sets. */
class VideoClient extends FakeClient {
  me = "7";
  calls: string[] = [];
  known = new Map<string, Video>([["5", video("5", { steps: steps(0) })]]);
  error: RialtoError | undefined;
  nowMs = 1_000_000;

  constructor() {
    super();
    const answer = (name: string, q: { video?: string; post?: string; upload?: string; before?: string }): unknown => {
      this.calls.push([name, ...Object.values(q)].join(" "));
      if (this.error) throw this.error;
      const found = this.known.get(q.video ?? "");
      if ((name === "getVideo" || name === "retryVideo") && !found) throw new RialtoError("not_found", "gone", "no_video");
      switch (name) {
        case "createVideo":
          this.known.set("9", video("9", { upload: q.upload!, state: VideoState.WAITING }));
          return this.known.get("9");
        case "retryVideo":
          this.known.set(q.video!, video(q.video!));
          return this.known.get(q.video!);
        case "requestRendition":
          this.known.set(q.video!, video(q.video!, { state: VideoState.READY, playback: playback(this.nowMs + 1_800_000), renditions: [{ name: "720p", onDemand: true, requested: true }] }));
          return this.known.get(q.video!);
        case "deleteVideo":
          this.known.delete(q.video!);
          return {};
        case "setWatchPosition":
        case "removeWatched":
          return {};
        case "clearWatched":
          this.known.clear();
          return {};
        case "setSubtitles":
          this.known.set(q.video!, video(q.video!, { subtitles: [{ language: "en", url: "/s.vtt" }] }));
          return this.known.get(q.video!);
        case "listWatched":
          return { videos: [...this.known.values()].map((v) => ({ video: v })), next: "" };
        case "listVideos":
          return { videos: [...this.known.values()].reverse(), next: "0" };
        default:
          return found;
      }
    };
    const videoApi = new Proxy({}, { get: (_, name: string) => async (q: object) => answer(name, q) });
    const options = { url: "https://chat.example.com", now: () => this.nowMs, random: () => 1 };
    Object.assign(this, videos({ services: { videoApi }, options, snapshots: { touch: () => void this.set({}) }, edges: { ready: () => Promise.resolve(), place: (to: string) => new URL(to, options.url).href }, me: () => this.me } as unknown as Context));
  }

  /** Lets time pass, and what happens meanwhile. */
  async pass(ms: number): Promise<void> {
    this.nowMs += ms;
    await vi.advanceTimersByTimeAsync(ms);
  }

  reads(): number {
    return this.calls.filter((c) => c.startsWith("getVideo")).length;
  }
}
interface VideoClient extends ReturnType<typeof videos> {}

let client: VideoClient;

beforeEach(() => {
  vi.useFakeTimers();
  client = new VideoClient();
});
afterEach(() => void vi.useRealTimers());

test("a video is read while it is processed, less often where nothing is finished, and not after its end", async () => {
  const stop = client.watchVideo("5");
  client.watchVideo("5")(); // somebody else, for a moment
  await client.pass(0);
  expect([client.calls, client.video("5").video?.id]).toEqual([["getVideo 5 0"], "5"]);
  await client.pass(1_000); // nothing new
  await client.pass(1_400);
  expect(client.reads()).toBe(2);
  await client.pass(100);
  expect(client.reads()).toBe(3);
  client.known.set("5", video("5", { steps: steps(1) }));
  await client.pass(2_250);
  expect([client.reads(), client.video("5").video?.steps[0]?.done]).toEqual([4, 1]);
  await client.pass(1_000); // a step was finished: the next read comes soon
  expect(client.reads()).toBe(5);
  client.known.set("5", video("5", { state: VideoState.FAILED, failure: { reason: "video_truncated" } }));
  await client.pass(10_000);
  const reads = client.reads();
  await client.pass(1_000_000);
  expect([client.reads(), client.video("5").video?.failure?.reason]).toEqual([reads, "video_truncated"]);
  stop();
});

test("waits grow to ten seconds, and end with the last watcher", async () => {
  const [first, second] = [client.watchVideo("5"), client.watchVideo("5")];
  await client.pass(60_000);
  const reads = client.reads();
  await client.pass(30_000);
  expect(client.reads()).toBe(reads + 3);
  first();
  first();
  await client.pass(10_000);
  expect(client.reads()).toBe(reads + 4);
  second();
  await client.pass(100_000);
  expect(client.reads()).toBe(reads + 4);
});

test("a video is read while a rendition is made that was asked for", async () => {
  client.known.set("5", video("5", { state: VideoState.READY, playback: playback(client.nowMs + 1_800_000), renditions: [{ name: "720p", onDemand: true }] }));
  const stop = client.watchVideo("5", "3");
  await client.pass(60_000);
  expect(client.calls).toEqual(["getVideo 5 3"]);
  await client.requestRendition("5", "3", "720p");
  expect(client.calls).toEqual(["getVideo 5 3", "requestRendition 5 3 720p", "getVideo 5 3"]);
  await client.pass(10_000);
  expect(client.reads()).toBeGreaterThan(4);
  client.known.set("5", video("5", { state: VideoState.READY, playback: playback(client.nowMs + 1_800_000), renditions: [{ name: "720p", onDemand: true, complete: true }] }));
  await client.pass(10_000);
  const reads = client.reads();
  await client.pass(60_000);
  expect([client.reads(), client.video("5", "3").video?.renditions[0]?.complete]).toEqual([reads, true]);
  stop();
});

test("addresses are those of the server, and are read again before they expire", async () => {
  client.known.set("5", video("5", { state: VideoState.READY, playback: playback(client.nowMs + 600_000), posters: [{ url: "/p.jpg" }, { url: "https://files.example.com/p.jpg" }], storyboard: { url: "/s.jpg" }, files: [{ name: "sheet.jpg", url: "/f.jpg" }] }));
  const stop = client.watchVideo("5", "3");
  await client.pass(0);
  const v = client.video("5", "3").video!;
  expect([v.playback?.hlsUrl, v.playback?.dashUrl, ...v.posters.map((p) => p.url), v.storyboard?.url, v.storyboard?.vttUrl, ...v.files.map((f) => f.url)]).toEqual([
    "https://chat.example.com/v1/video/5/sig/master.m3u8", "", "https://chat.example.com/p.jpg", "https://files.example.com/p.jpg", "https://chat.example.com/s.jpg", "", "https://chat.example.com/f.jpg",
  ]);
  expect(client.calls).toEqual(["getVideo 5 3"]);
  await client.pass(530_000);
  expect(client.reads()).toBe(1);
  await client.pass(10_000);
  expect(client.reads()).toBe(2);
  await client.pass(30_000); // still the same: perhaps the clocks differ
  expect(client.reads()).toBe(3);
  stop();
});

test("who comes back to a video gets addresses that work, and nothing is read where they still do", async () => {
  client.known.set("5", video("5", { state: VideoState.READY, playback: playback(client.nowMs + 600_000) }));
  client.watchVideo("5")();
  await client.pass(400_000);
  client.watchVideo("5")();
  await client.pass(0);
  expect(client.reads()).toBe(1);
  await client.pass(150_000);
  client.watchVideo("5")();
  await client.pass(0);
  expect(client.reads()).toBe(2);
});

test("what fails for a while is tried again, and what was read stays; what is gone is not asked for", async () => {
  const stop = client.watchVideo("5");
  await client.pass(0);
  client.error = new RialtoError("unavailable", "offline");
  await client.pass(1_000);
  expect([client.video("5").video?.id, client.video("5").error?.code]).toEqual(["5", "unavailable"]);
  client.error = undefined;
  await client.pass(2_000);
  expect(client.video("5").error).toBe(undefined);
  client.known.delete("5");
  await client.pass(10_000);
  expect([client.video("5").video, client.video("5").error?.reason]).toEqual([undefined, "no_video"]);
  const reads = client.reads();
  await client.pass(100_000);
  expect(client.reads()).toBe(reads);
  client.known.set("5", video("5"));
  await client.refreshVideo("5");
  expect(client.video("5").video?.id).toBe("5");
  stop();
});

test("a deleted video is gone at once, a retried one is processed again, and another user sees none", async () => {
  client.known.set("6", video("6", { state: VideoState.FAILED }));
  const stop = [client.watchVideo("5"), client.watchVideo("5", "3"), client.watchVideo("6")];
  await client.pass(0);
  await client.deleteVideo("5");
  expect([client.video("5").error?.reason, client.video("5", "3").error?.reason]).toEqual(["no_video", "no_video"]);
  await client.retryVideo("6");
  expect(client.video("6").video?.state).toBe(VideoState.PROCESSING);
  const reads = client.reads();
  await client.pass(1_000);
  expect(client.reads()).toBe(reads + 1);
  stop.forEach((f) => f());
  client.me = "8";
  expect(client.video("6")).toEqual({ video: undefined, error: undefined });
});

test("videos that nobody watches any more are forgotten, those first that were not used for longest", async () => {
  for (let n = 1; n <= 110; n++) {
    client.known.set(String(n), video(String(n), { state: VideoState.READY }));
    const stop = client.watchVideo(String(n));
    await client.pass(0);
    stop();
  }
  const known = Array.from({ length: 110 }, (_, i) => client.video(String(i + 1)).video?.id).filter(Boolean);
  expect([known.length, known[0], known.at(-1)]).toEqual([100, "11", "110"]);
});

test("where the user is in a video shows at once, also while the server does not have it yet", async () => {
  client.known.set("5", video("5", { state: VideoState.READY, positionMs: 7_000 }));
  const stop = [client.watchVideo("5", "3"), client.watchVideo("5")];
  await client.pass(0);
  expect(client.video("5").video?.positionMs).toBe(7_000);
  client.error = new RialtoError("unavailable", "offline");
  client.watchedTo("5", "3", 9_000.4);
  expect([client.video("5").video?.positionMs, client.video("5", "3").video?.positionMs]).toEqual([9_000, 9_000]);
  await client.pass(0);
  expect(client.calls.at(-1)).toBe("setWatchPosition 5 3 9000 0");
  client.error = undefined;
  await client.refreshVideo("5");
  expect(client.video("5").video?.positionMs).toBe(9_000);
  await client.pass(5_000);
  client.known.set("5", video("5", { state: VideoState.READY, positionMs: 20_000 })); // of another device
  await client.refreshVideo("5");
  expect(client.video("5").video?.positionMs).toBe(20_000);
  client.watchedTo("5", "3", 30_000);
  client.me = "8";
  client.watchedTo("6", "3", 1_000);
  const calls = client.calls.length;
  await client.pass(10_000);
  expect(client.calls.slice(calls).filter((c) => c.startsWith("setWatch"))).toEqual(["setWatchPosition 6 3 1000 10000"]); // nothing of user 7
  stop.forEach((f) => f());
});

test("subtitles that are set here show at once", async () => {
  await client.setSubtitles("5", { language: "en", file: "WEBVTT" });
  expect(client.calls.at(-1)).toBe("setSubtitles 5 en  false WEBVTT");
  expect(client.video("5").video?.subtitles[0]?.url).toBe("https://chat.example.com/s.vtt");
});

// --- hooks ---

async function render<T>(hook: () => T): Promise<{ shown: () => T; root: Root }> {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  const root = createRoot(document.createElement("div"));
  let last: T;
  function Probe(): ReactNode {
    const value = hook();
    useLayoutEffect(() => void (last = value));
    return null;
  }
  await act(async () => root.render(createElement(RialtoProvider, { client: client.asClient() }, createElement(Probe))));
  return { shown: () => last, root };
}

test("a list of one's own videos has what is made and deleted here", async () => {
  vi.useRealTimers();
  const { shown, root } = await render(useOwnVideos);
  expect(shown().loading).toBe(true);
  await act(() => client.set({ connection: "online" }));
  await act(() => client.frame());
  expect([shown().loading, shown().videos.map((v) => v.id)]).toEqual([false, ["5"]]);
  await act(async () => void (await client.createVideo("77")));
  await act(() => client.frame());
  expect(shown().videos.map((v) => v.id)).toEqual(["9", "5"]);
  expect(client.calls).toContain("createVideo 77");
  await act(() => client.deleteVideo("5"));
  await act(() => client.frame());
  expect(shown().videos.map((v) => v.id)).toEqual(["9"]);
  act(() => root.unmount());
});

test("a view of a video shows it as it is processed, and reads nothing without one", async () => {
  vi.useRealTimers();
  const { shown, root } = await render(() => [useVideo("5"), useVideo("0")] as const);
  await act(() => client.frame());
  expect([shown()[0].video?.id, shown()[1].video, client.calls]).toEqual(["5", undefined, ["getVideo 5 0"]]);
  client.known.set("5", video("5", { state: VideoState.READY }));
  await act(() => client.refreshVideo("5"));
  await act(() => client.frame());
  expect(shown()[0].video?.state).toBe(VideoState.READY);
  act(() => root.unmount());
});

test("a history of videos has those that are removed here no longer", async () => {
  vi.useRealTimers();
  client.known.set("6", video("6", { positionMs: 9_000 }));
  const { shown, root } = await render(useWatchedVideos);
  await act(() => client.set({ connection: "online" }));
  await act(() => client.frame());
  expect(shown().watched.map((w) => [w.video?.id, w.video?.positionMs])).toEqual([["5", 0], ["6", 9_000]]);
  await act(() => client.removeWatched("5"));
  await act(() => client.frame());
  expect([shown().watched.map((w) => w.video?.id), client.calls.at(-1)]).toEqual([["6"], "removeWatched 5"]);
  await act(() => client.clearWatched());
  await act(() => client.frame());
  expect([shown().watched, shown().loading]).toEqual([[], false]);
  act(() => root.unmount());
});
