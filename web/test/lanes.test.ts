import { expect, test } from "vitest";
import { leftOf, movingMs, placeInLanes, stillMs, type Moving, type Stage } from "../src/player/lanes.js";

const stage: Stage = { width: 600, lanes: 3, still: false };
const at = (id: string, timeMs: number, width = 100, always = false): Moving => ({ id, timeMs, width, always });
const lanes = (list: Moving[], of = stage) => Object.fromEntries(placeInLanes(list, of));

test("a text enters at the right edge, and leaves at the left one", () => {
  const m = at("a", 1_000);
  expect([leftOf(m, 1_000, stage), leftOf(m, 1_000 + movingMs, stage)]).toEqual([600, -100]);
});

test("texts of the same time are below each other; one for which there is no place is left out, but for one's own", () => {
  expect(lanes([at("a", 0), at("b", 0), at("c", 10), at("d", 10)])).toEqual({ a: 0, b: 1, c: 2 });
  expect(lanes([at("a", 0), at("b", 0), at("c", 10), at("d", 10, 100, true)])).toEqual({ a: 0, b: 1, c: 2, d: 0 });
});

test("no two texts of a lane touch each other, as long as both are seen", () => {
  let random = 7;
  const next = (most: number) => (random = (random * 16_807) % 2_147_483_647) % most;
  for (const still of [false, true]) {
    const of = { ...stage, still };
    const list = Array.from({ length: 300 }, (_, n) => at(String(n), next(60_000), 20 + next(500))).sort((a, b) => a.timeMs - b.timeMs);
    const placed = placeInLanes(list, of);
    expect(placed.size).toBeGreaterThan(10);
    const life = still ? stillMs : movingMs;
    const touching: string[] = [];
    for (const [n, a] of list.entries()) {
      for (const b of list.slice(n + 1)) {
        if (b.timeMs >= a.timeMs + life) break;
        if (!placed.has(a.id) || placed.get(a.id) !== placed.get(b.id)) continue;
        for (let now = b.timeMs; now < a.timeMs + life; now += 50) {
          const [l, r] = [leftOf(a, now, of), leftOf(b, now, of)];
          if (l + a.width > r && r + b.width > l) touching.push(`${a.id} and ${b.id} at ${now}`);
        }
      }
    }
    expect(touching).toEqual([]);
  }
});

test("without motion a text stays in the middle, and the next one of its lane follows it", () => {
  const still = { ...stage, lanes: 1, still: true };
  expect([leftOf(at("a", 0), 0, still), leftOf(at("a", 0), 3_000, still), leftOf(at("a", 0, 900), 0, still)]).toEqual([250, 250, 0]);
  expect(lanes([at("a", 0), at("b", stillMs - 1), at("c", stillMs)], still)).toEqual({ a: 0, c: 0 });
});
