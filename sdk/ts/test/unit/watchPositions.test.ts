import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RialtoError } from "../../src/errors.js";
import { WatchPositions, type WatchPosition } from "../../src/watchPositions.js";

let user = "";
let nowMs = 0;
let sent: string[] = [];
let fails: RialtoError | undefined;
let hold: Promise<void> | undefined;
let positions: WatchPositions;

const at = (video: string, positionMs: number): WatchPosition => ({ video, post: "3", positionMs });

async function pass(ms: number): Promise<void> {
  nowMs += ms;
  await vi.advanceTimersByTimeAsync(ms);
}

beforeEach(() => {
  vi.useFakeTimers();
  [nowMs, sent, fails, hold] = [1_000_000, [], undefined, undefined];
  positions = new WatchPositions({
    send: async (p, ageMs) => {
      sent.push(`${p.video} ${p.post} ${p.positionMs} ${ageMs}`);
      await hold;
      if (fails) throw fails;
    },
    user: () => user,
    now: () => nowMs,
    random: () => 1,
  });
  user = "1";
});
afterEach(() => void vi.useRealTimers());

test("while a video plays, its position is sent every ten seconds, and at once where it is left", async () => {
  positions.reached(at("5", 1_000), false);
  await pass(0);
  expect([sent, positions.of("5")]).toEqual([["5 3 1000 0"], undefined]);
  for (let n = 1; n <= 9; n++) {
    positions.reached(at("5", n * 2_000), false);
    await pass(1_000);
  }
  expect([sent.length, positions.of("5")]).toEqual([1, 18_000]);
  await pass(1_000);
  expect(sent.slice(1)).toEqual(["5 3 18000 2000"]);
  positions.reached(at("5", 19_000), false);
  positions.reached(at("5", 20_000), true);
  await pass(0);
  await pass(60_000);
  expect(sent.slice(2)).toEqual(["5 3 20000 0"]);
});

test("what could not be sent is sent later, with its age, unless a later one replaced it", async () => {
  fails = new RialtoError("unavailable", "offline");
  positions.reached(at("5", 1_000), true);
  positions.reached(at("6", 7_000), true);
  await pass(0);
  positions.reached(at("5", 2_000), true);
  await pass(500);
  fails = undefined;
  sent = [];
  await pass(10_000);
  expect(sent.map((s) => s.split(" ").slice(0, 3).join(" ")).sort()).toEqual(["5 3 2000", "6 3 7000"]);
  expect(sent.every((s) => Number(s.split(" ")[3]) >= 500)).toBe(true);
  expect([positions.of("5"), positions.of("6")]).toEqual([undefined, undefined]);
  fails = new RialtoError("not_found", "gone", "no_video"); // not for the user any more
  positions.reached(at("5", 3_000), true);
  await pass(100_000);
  expect(sent.length).toBe(3);
});

test("one is sent at a time, and the one that was reached last comes last", async () => {
  let release = () => {};
  hold = new Promise((done) => (release = done));
  positions.reached(at("5", 1_000), true);
  await pass(0);
  positions.reached(at("5", 2_000), true);
  positions.reached(at("5", 3_000), true);
  await pass(0);
  expect(sent).toEqual(["5 3 1000 0"]);
  hold = undefined;
  release();
  await pass(0);
  expect([sent, positions.of("5")]).toEqual([["5 3 1000 0", "5 3 3000 0"], undefined]);
});

test("what was removed is not sent any more, and few wait", async () => {
  fails = new RialtoError("unavailable", "offline");
  for (let n = 1; n <= 25; n++) positions.reached(at(String(n), n), false);
  expect([positions.of("5"), positions.of("6"), positions.of("25")]).toEqual([undefined, 6, 25]);
  void positions.forget("6");
  expect([positions.of("6"), positions.of("7")]).toEqual([undefined, 7]);
  void positions.forget();
  await pass(100_000);
  expect(sent).toEqual([]);
});

test("a position is sent for the user who was there", async () => {
  positions.reached({ video: "5", post: "1", positionMs: 1 }, false);
  user = "2";
  expect(positions.of("5")).toBeUndefined();
  positions.reached({ video: "6", post: "1", positionMs: 2 }, false);
  await positions.flush();
  expect(sent).toEqual(["6 1 2 0"]);
});

test("who forgets waits for the request that is under way", async () => {
  let answered = () => {};
  hold = new Promise<void>((resolve) => (answered = resolve));
  positions.reached({ video: "5", post: "1", positionMs: 1 }, true);
  const order: string[] = [];
  const forgotten = positions.forget("5").then(() => order.push("forgotten"));
  await Promise.resolve();
  order.push("answered");
  answered();
  await forgotten;
  expect(order).toEqual(["answered", "forgotten"]);
});
