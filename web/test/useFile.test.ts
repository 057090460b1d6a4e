import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { isFindingEnd, useFile } from "../src/player/useFile.js";
import { usePlayback } from "../src/player/usePlayback.js";

/** A recording that does not say how long it is: a sound of a browser, as far as the player uses it. */
class FakeSound extends EventTarget {
  dataset: Record<string, string> = {};
  duration = Infinity;
  currentTime = 0;
  paused = true;
  play() {
    this.paused = false;
    return Promise.resolve();
  }
  pause() {
    this.paused = true;
  }
}

beforeEach(() => vi.stubGlobal("HTMLAudioElement", FakeSound));
afterEach(() => vi.unstubAllGlobals());

/** What the player of a sound has of its file. */
function fileOf(sound: FakeSound, url = "/voice") {
  const source = { kind: "file" as const, upload: "1", url, renew: () => {}, checkEdge: () => {} };
  let file: ReturnType<typeof useFile> | undefined;
  const Sound = () => {
    file = useFile({ current: sound as unknown as HTMLAudioElement }, source, 60_000);
    return null;
  };
  renderToStaticMarkup(createElement(Sound));
  return { failure: file?.failure, ...(file?.events as Record<"onError" | "onStalled" | "onLoadedMetadata", () => void>) };
}

test("a sound of which the address is not known yet has not failed", () => {
  expect(fileOf(new FakeSound(), "").failure).toBe(undefined);
});

test("a sound that stalls while its end is looked for begins at its start, and is played if it was", () => {
  const sound = new FakeSound();
  const events = fileOf(sound);
  void sound.play();
  events.onLoadedMetadata();
  expect([isFindingEnd(sound as unknown as HTMLMediaElement), sound.paused, sound.currentTime]).toEqual([true, true, 1e7]);
  events.onStalled();
  sound.dispatchEvent(new Event("seeked"));
  expect([sound.currentTime, sound.paused]).toEqual([0, false]);
});

test("a sound that fails while its end is looked for goes on at its start with a new address, and is played if it was", () => {
  const sound = new FakeSound();
  const events = fileOf(sound);
  void sound.play();
  events.onLoadedMetadata();
  events.onError();
  expect([isFindingEnd(sound as unknown as HTMLMediaElement), sound.currentTime]).toEqual([false, 0]);
  sound.dispatchEvent(new Event("seeked")); // that of the way back
  expect(sound.paused).toBe(true);
  sound.duration = 60;
  events.onLoadedMetadata();
  expect([sound.currentTime, sound.paused]).toEqual([0, false]);
});

test("a file that does not say how long it is can be sought, one of which nothing is loaded cannot", () => {
  const file = new FakeSound();
  const seekable = { length: 1, end: () => file.duration };
  let seek: ((to: number) => void) | undefined;
  const Video = () => {
    seek = usePlayback({ current: Object.assign(file, { seekable }) as unknown as HTMLVideoElement }).seek;
    return null;
  };
  renderToStaticMarkup(createElement(Video));
  seek?.(20);
  expect(file.currentTime).toBe(20);
  file.duration = 10;
  seek?.(20);
  expect(file.currentTime).toBe(10);
  file.duration = NaN;
  seek?.(5);
  expect(file.currentTime).toBe(10);
});
