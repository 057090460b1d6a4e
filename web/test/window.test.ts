import { expect, test } from "vitest";
import { around, down, sizes, tail, up, within, type Span } from "../src/window.js";

const rows = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => ({ seq: from + i }));

test("a list opens at its end and follows it", () => {
  const s = tail(rows(1, 1000));
  expect(within(rows(1, 1000), s)).toMatchObject({ above: 1000 - sizes.open, below: 0 });
  expect(within(rows(1, 1003), s).rows.at(-1)).toEqual({ seq: 1003 });
  expect(within([], tail([])).rows).toEqual([]);
});

test("rows that come in above do not move what is shown", () => {
  const s = tail(rows(900, 1000));
  expect(within(rows(700, 1000), s).rows).toEqual(within(rows(900, 1000), s).rows);
});

test("going up to the beginning and back shows every row, never too many, never a hole", () => {
  const all = rows(1, 2000).filter((r) => r.seq % 7 !== 0); // what is not shown leaves gaps in the numbers
  let s: Span = tail(all);
  const seen = new Set<number>();
  const look = () => {
    const w = within(all, s).rows;
    expect(w.length).toBeLessThanOrEqual(sizes.most);
    const at = all.indexOf(w[0]!);
    expect(w).toEqual(all.slice(at, at + w.length));
    for (const r of w) seen.add(r.seq);
  };
  for (look(); within(all, s).above > 0; look()) s = up(all, s);
  expect(seen.size).toBe(all.length);
  expect(within(all, s).below).toBeGreaterThan(0);
  for (; within(all, s).below > 0; look()) s = down(all, s);
  expect(s.high).toBe(Infinity);
});

test("the row one looks at stays when the list grows on its side", () => {
  const all = rows(1, 2000);
  let s: Span = tail(all);
  for (let i = 0; i < 20; i++) {
    const top = within(all, s).rows[0]!;
    s = up(all, s);
    expect(within(all, s).rows).toContainEqual(top);
  }
  for (let i = 0; i < 20; i++) {
    const bottom = within(all, s).rows.at(-1)!;
    s = down(all, s);
    expect(within(all, s).rows).toContainEqual(bottom);
  }
});

test("a list opens around a row in its middle, and at the end it follows the end", () => {
  const middle = within(rows(1, 1000), around(rows(1, 1000), 500));
  expect(middle.rows[0]).toEqual({ seq: 480 });
  expect(middle.rows.at(-1)).toEqual({ seq: 500 + sizes.open });
  expect(around(rows(1, 1000), 990).high).toBe(Infinity);
  expect(around(rows(1, 1000), 3).low).toBe(1);
});
