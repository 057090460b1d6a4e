import { expect, test } from "vitest";
import type { VideoRendition, VideoStoryboard } from "@rialto-im/client";
import { SignedAddresses } from "../src/player/addresses.js";
import { commandOf, speedAfter } from "../src/player/keys.js";
import { Positions } from "../src/player/positions.js";
import { autoLevels, nameOfLevel } from "../src/player/renditions.js";
import { tileAt } from "../src/player/storyboard.js";

const press = (key: string, mods = {}) => ({ key, ctrlKey: false, metaKey: false, altKey: false, ...mods });

test("keys do what players do with them", () => {
  expect(commandOf(press(" "), "other")).toEqual({ kind: "toggle" });
  expect(commandOf(press("K"), "other")).toEqual({ kind: "toggle" });
  expect(commandOf(press("ArrowLeft"), "other")).toEqual({ kind: "seekBy", seconds: -5 });
  expect(commandOf(press("ArrowRight"), "button")).toEqual({ kind: "seekBy", seconds: 5 });
  expect(commandOf(press("0"), "other")).toEqual({ kind: "seekTo", part: 0 });
  expect(commandOf(press("7"), "other")).toEqual({ kind: "seekTo", part: 0.7 });
  expect([..."mfi"].map((k) => commandOf(press(k), "other")?.kind)).toEqual(["mute", "fullscreen", "pictureInPicture"]);
  expect(commandOf(press(">"), "other")).toEqual({ kind: "speedBy", steps: 1 });
});

test("a button and a list keep their own keys, and the browser its shortcuts", () => {
  expect(commandOf(press(" "), "button")).toBe(undefined);
  expect(commandOf(press("Enter"), "button")).toBe(undefined);
  expect(commandOf(press("ArrowDown"), "choices")).toBe(undefined);
  expect(commandOf(press("f", { ctrlKey: true }), "other")).toBe(undefined);
  expect(commandOf(press("5", { metaKey: true }), "other")).toBe(undefined);
  expect(commandOf(press("toString"), "other")).toBe(undefined);
});

test("the speed goes in steps, to its ends", () => {
  expect([speedAfter(1, 1), speedAfter(1, -1), speedAfter(2, 1), speedAfter(0.5, -1), speedAfter(1.1, 1)]).toEqual([1.25, 0.75, 2, 0.5, 1.5]);
});

test("a storyboard's frames lie in rows", () => {
  const board = { url: "s.jpg", tileWidth: 160, tileHeight: 90, columns: 3, count: 5, intervalMs: 2_000 } as VideoStoryboard;
  expect(tileAt(board, 0)).toMatchObject({ x: 0, y: 0 });
  expect(tileAt(board, 5.9)).toMatchObject({ x: 320, y: 0 });
  expect(tileAt(board, 6)).toMatchObject({ x: 0, y: 90, width: 160, height: 90 });
  expect(tileAt(board, 1_000)).toMatchObject({ x: 160, y: 90 }); // the last one
  expect([tileAt(undefined, 1), tileAt({ ...board, count: 0 }, 1)]).toEqual([undefined, undefined]);
});

class MemoryStorage implements Pick<Storage, "getItem" | "setItem" | "removeItem"> {
  readonly items = new Map<string, string>();
  getItem = (key: string) => this.items.get(key) ?? null;
  setItem = (key: string, value: string) => void this.items.set(key, value);
  removeItem = (key: string) => void this.items.delete(key);
}

test("a video goes on where its user stopped, unless that was close to an end", () => {
  let me = "7";
  const storage = new MemoryStorage();
  const positions = new Positions(storage, () => me);
  positions.set("1", 61.7, 100);
  positions.set("2", 3, 100);
  positions.set("3", 97, 100);
  expect(["1", "2", "3", "4"].map((v) => positions.get(v))).toEqual([61, 0, 0, 0]);
  me = "8";
  expect(positions.get("1")).toBe(0);
  me = "7";
  positions.set("short", 4, 8);
  expect(positions.get("short")).toBe(4);
  positions.set("1", 99, 100); // to its end
  expect(positions.get("1")).toBe(0);
  for (let n = 0; n < 205; n++) positions.set(`v${n}`, 50, 100);
  expect([positions.get("v4"), positions.get("v5"), positions.get("v204")]).toEqual([0, 50, 50]);
  storage.items.set("video-positions/7", "{broken");
  expect(positions.get("v5")).toBe(0);
  storage.items.set("video-positions/7", '[["1","x"],3,["2",40]]');
  expect([positions.get("1"), positions.get("2")]).toEqual([0, 40]);
});

const rendition = (name: string, width: number, height: number, playableMs: number) => ({ name, width, height, playableMs, complete: false }) as VideoRendition;

test("a level has the name of its rendition", () => {
  const list = [rendition("240p", 426, 240, 0)];
  expect([nameOfLevel({ width: 426, height: 240 }, list), nameOfLevel({ width: 720, height: 1280 }, list)]).toEqual(["240p", "720p"]);
});

test("while a video grows, no level is chosen that ends before the others", () => {
  const levels = [{ width: 426, height: 240 }, { width: 640, height: 360 }, { width: 1280, height: 720 }];
  const of = (...playable: number[]) => Object.values(autoLevels(levels, levels.map((l, i) => rendition("", l.width, l.height, playable[i]!))));
  expect(of(30_000, 30_000, 10_000)).toEqual([0, 1]);
  expect(of(30_000, 20_000, 10_000)).toEqual([0, 0]);
  expect(of(30_000, 30_000, 30_000)).toEqual([0, 2]);
  expect(of(10_000, 10_000, 30_000)).toEqual([2, 2]); // the largest one is copied, and ready first
  expect(autoLevels(levels, [])).toEqual({ least: 0, most: 2 });
  expect(autoLevels([], [])).toEqual({ least: 0, most: 0 });
});

test("addresses of an older playlist get the newest signature", () => {
  const a = new SignedAddresses("https://x.example/v1/video/5/old/master.m3u8");
  const segment = (sig: string) => `https://x.example/v1/video/5/${sig}/240p/3.m4s`;
  expect(a.newest(segment("old"))).toBe(segment("old"));
  a.renew("https://x.example/v1/video/5/new/master.m3u8");
  a.renew("https://x.example/v1/video/5/newer/master.m3u8");
  expect([a.newest(segment("old")), a.newest(segment("new")), a.newest(segment("newer"))]).toEqual([segment("newer"), segment("newer"), segment("newer")]);
  expect(a.newest("https://elsewhere.example/240p/3.m4s")).toBe("https://elsewhere.example/240p/3.m4s");
});
