/**
 * Which rows of a long list are in the page. Bounds are sequence numbers, not indices, so that rows which come in above or
 * below do not move them. `high` of Infinity follows the end.
 */
export interface Span {
  low: number;
  high: number;
}

interface Row {
  seq: number;
}

/** Rows that a list opens with, that it grows by, and that it keeps at most. */
export const sizes = { open: 80, step: 60, most: 240 };

/** The last rows, following the end. */
export function tail(rows: readonly Row[], n = sizes.open): Span {
  return { low: rows[Math.max(0, rows.length - n)]?.seq ?? 0, high: Infinity };
}

/** The rows from some before a seq to as many after it as a list opens with. */
export function around(rows: readonly Row[], seq: number, before = 20): Span {
  const at = firstAt(rows, seq);
  const to = at + sizes.open;
  return { low: rows[Math.max(0, at - before)]?.seq ?? 0, high: to >= rows.length ? Infinity : rows[to]!.seq };
}

/** The rows within the span, with how many lie above and below it. */
export function within<R extends Row>(rows: readonly R[], s: Span): { rows: readonly R[]; above: number; below: number } {
  const from = firstAt(rows, s.low);
  const to = s.high === Infinity ? rows.length : firstAt(rows, s.high + 1);
  return { rows: rows.slice(from, to), above: from, below: rows.length - to };
}

/** Grows upwards, and lets rows go below where there would be too many. */
export function up(rows: readonly Row[], s: Span): Span {
  const from = Math.max(0, firstAt(rows, s.low) - sizes.step);
  const to = s.high === Infinity ? rows.length : firstAt(rows, s.high + 1);
  const low = rows[from]?.seq ?? 0;
  return to - from > sizes.most ? { low, high: rows[from + sizes.most - 1]!.seq } : { low, high: s.high };
}

/** Grows downwards, and lets rows go above where there would be too many. */
export function down(rows: readonly Row[], s: Span): Span {
  if (s.high === Infinity) return s;
  const to = Math.min(rows.length, firstAt(rows, s.high + 1) + sizes.step);
  const from = Math.max(firstAt(rows, s.low), to - sizes.most);
  return { low: rows[from]?.seq ?? 0, high: to === rows.length ? Infinity : rows[to - 1]!.seq };
}

/** Index of the first row at or after seq. */
function firstAt(rows: readonly Row[], seq: number): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (rows[mid]!.seq < seq) low = mid + 1;
    else high = mid;
  }
  return low;
}
