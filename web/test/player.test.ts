import { expect, test } from "vitest";
import type { VideoRendition, VideoStoryboard, VideoSubtitles } from "@rialto-im/client";
import { SignedAddresses } from "../src/player/addresses.js";
import { commandOf, isForSound, speedAfter } from "../src/player/keys.js";
import { Positions } from "../src/player/positions.js";
import { autoLevels, nameOfLevel, onDemand, onDemandState } from "../src/player/renditions.js";
import { resumeAt } from "../src/player/resume.js";
import { SpeedOfSounds } from "../src/player/speedOfSounds.js";
import { tileAt } from "../src/player/storyboard.js";
import { chosenLanguage, storeChoice, toggledLanguage } from "../src/player/subtitles.js";

const press = (key: string, mods = {}) => ({ key, ctrlKey: false, metaKey: false, altKey: false, ...mods });

test("keys do what players do with them", () => {
  expect(commandOf(press(" "), "other")).toEqual({ kind: "toggle" });
  expect(commandOf(press("K"), "other")).toEqual({ kind: "toggle" });
  expect(commandOf(press("ArrowLeft"), "other")).toEqual({ kind: "seekBy", seconds: -5 });
  expect(commandOf(press("ArrowRight"), "button")).toEqual({ kind: "seekBy", seconds: 5 });
  expect(commandOf(press("0"), "other")).toEqual({ kind: "seekTo", part: 0 });
  expect(commandOf(press("7"), "other")).toEqual({ kind: "seekTo", part: 0.7 });
  expect([..."mfic"].map((k) => commandOf(press(k), "other")?.kind)).toEqual(["mute", "fullscreen", "pictureInPicture", "subtitles"]);
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
  expect([61_700, 3_000, 97_000, 0, 100_000].map((ms) => resumeAt(ms, 100_000))).toEqual([61, 0, 0, 0, 0]);
  expect([4_000, 500, 7_500].map((ms) => resumeAt(ms, 8_000))).toEqual([4, 0, 0]);
  expect(resumeAt(5_000, 0)).toBe(0);
});

test("a voice message leaves to the list what only a picture, or the list, has", () => {
  const kept = [" ", "k", "m", "j", "ArrowRight", "Home", "7", "<"].map((key) => commandOf(press(key), "other")!);
  expect(kept.every(isForSound)).toBe(true);
  expect(["f", "i", "c", "ArrowUp", "ArrowDown"].map((key) => isForSound(commandOf(press(key), "other")!))).toEqual([false, false, false, false, false]);
});

test("the page remembers where files were stopped; those that were played least recently give way", () => {
  const positions = new Positions();
  for (let i = 0; i < 200; i++) positions.set(String(i), i + 1);
  positions.set("0", 7);
  positions.set("200", 9);
  expect(["0", "1", "2", "200", "unknown"].map((upload) => positions.of(upload))).toEqual([7, 0, 3, 9, 0]);
});

test("all voice messages have the speed that was chosen last on this device", () => {
  const storage = new MemoryStorage();
  const speed = new SpeedOfSounds(storage);
  const seen: number[] = [];
  const end = speed.subscribe(() => seen.push(speed.get()));
  speed.set(1.5);
  end();
  speed.set(2);
  expect([speed.get(), seen, new SpeedOfSounds(storage).get()]).toEqual([2, [1.5], 2]);
  storage.setItem("sound-speed", "17");
  expect(new SpeedOfSounds(storage).get()).toBe(1);
  const full = new SpeedOfSounds({ getItem: () => null, setItem: () => { throw new Error("full"); } });
  full.set(0.5);
  expect(full.get()).toBe(0.5);
});

test("subtitles are those that the user chose on this device, or else those of the author", () => {
  const storage = new MemoryStorage();
  const list = [{ language: "de" }, { language: "en-US", default: true }, { language: "zh-Hans" }] as VideoSubtitles[];
  const first = (of = list) => chosenLanguage(of, storage);
  expect([first(), first(list.slice(2)), first([])]).toEqual(["en-US", undefined, undefined]);
  storeChoice("de", storage);
  expect([first(), first(list.slice(1))]).toEqual(["de", "en-US"]);
  storeChoice("zh-Hant", storage);
  expect(first()).toBe("zh-Hans");
  storeChoice(undefined, storage);
  expect(first()).toBe(undefined);
});

test("a key shows the subtitles that were shown last, or those that fit best", () => {
  const list = [{ language: "de" }, { language: "en-US" }, { language: "zh-Hans" }] as VideoSubtitles[];
  expect(toggledLanguage(list, "de", "de", "en")).toBe(undefined);
  expect(toggledLanguage(list, undefined, "zh-Hans", "en")).toBe("zh-Hans");
  expect(toggledLanguage(list, undefined, undefined, "en")).toBe("en-US");
  expect(toggledLanguage(list, undefined, "fr", "fr")).toBe("de");
  expect(toggledLanguage([{ ...list[0]!, default: true }, ...list.slice(1)], undefined, undefined, "zh")).toBe("de");
  expect(toggledLanguage([], undefined, undefined, "en")).toBe(undefined);
});

const rendition = (name: string, width: number, height: number, playableMs: number) => ({ name, width, height, playableMs, complete: false }) as VideoRendition;

test("a level has the name of its rendition", () => {
  const list = [rendition("240p", 426, 240, 0)];
  expect([nameOfLevel({ width: 426, height: 240 }, list), nameOfLevel({ width: 720, height: 1280 }, list)]).toEqual(["240p", "720p"]);
});

test("those on demand that are not there can be asked for, the largest first", () => {
  const list = [rendition("240p", 426, 240, 0), { ...rendition("480p", 854, 480, 0), onDemand: true }, { ...rendition("720p", 1280, 720, 0), onDemand: true, requested: true }, { ...rendition("1080p", 1920, 1080, 9), onDemand: true, complete: true }];
  expect(onDemand(list).map((r) => r.name)).toEqual(["720p", "480p"]);
  expect([480, 720, 1080, 240, 300, undefined].map((h) => onDemandState(list, h))).toEqual(["missing", "encoding", undefined, undefined, undefined, undefined]);
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
