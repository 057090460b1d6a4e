import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { PushLag } from "../../src/lag.js";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** The server's clock is a minute ahead of ours. */
const ahead = 60_000;

function setUp() {
  let syncs = 0;
  const lag = new PushLag({
    sync: () => {
      syncs++;
      return Promise.resolve();
    },
    now: Date.now,
    random: () => 0.5,
  });
  lag.clock(Date.now() + ahead);
  return { lag, syncs: () => syncs };
}

test("pushes in time, by the server's clock, cause no calls", async () => {
  const { lag, syncs } = setUp();
  for (let i = 0; i < 100; i++) {
    lag.pushed(Date.now() + ahead - 4_000);
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect([syncs(), lag.lagging]).toEqual([0, false]);
});

test("after a late push the client polls, as long as pushes are late, and half a minute more", async () => {
  const { lag, syncs } = setUp();
  for (let i = 0; i < 60; i++) {
    lag.pushed(Date.now() + ahead - 8_000);
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(syncs()).toBe(13); // at once, and every 5 s for a minute
  expect(lag.lagging).toBe(true);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(syncs()).toBe(19);
  expect(lag.lagging).toBe(false);
});

test("an own message that is acknowledged and does not come back causes a poll; one that does, none", async () => {
  const { lag, syncs } = setUp();
  lag.acknowledged(1);
  await vi.advanceTimersByTimeAsync(4_000);
  lag.arrived(1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(syncs()).toBe(0);
  lag.acknowledged(2);
  await vi.advanceTimersByTimeAsync(6_000);
  expect(syncs()).toBe(1);
});

test("before the server named its time nothing is late, and a closed socket ends the polling", async () => {
  const { lag, syncs } = setUp();
  lag.pushed(0);
  lag.acknowledged(1);
  lag.stop();
  lag.pushed(0);
  await vi.advanceTimersByTimeAsync(600_000);
  expect(syncs()).toBe(0);
});
