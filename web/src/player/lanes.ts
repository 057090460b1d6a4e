/** A text that moves over the picture, from its right edge to its left. */
export interface Moving {
  readonly id: string;
  /** When it enters, in the video's time. */
  readonly timeMs: number;
  /** In pixels. */
  readonly width: number;
  /** It is shown in any case, also where it covers another one. */
  readonly always?: boolean;
}

/** Where texts move. */
export interface Stage {
  /** In pixels. */
  readonly width: number;
  readonly lanes: number;
  /** They do not move, but stay for a while. */
  readonly still: boolean;
}

/** So long a text is seen. */
export const movingMs = 8_000;
export const stillMs = 4_000;
/** Between two texts of a lane, in pixels. */
const gap = 24;

export const shownMs = (stage: Stage): number => (stage.still ? stillMs : movingMs);

/** Where the left edge of a text is at a time, in pixels from the left edge of the stage. */
export function leftOf(m: Moving, nowMs: number, stage: Stage): number {
  if (stage.still) return Math.max(0, (stage.width - m.width) / 2);
  return stage.width - ((stage.width + m.width) * (nowMs - m.timeMs)) / movingMs;
}

/** Whether a later text in the lane of an earlier one never touches it. */
function follows(later: Moving, earlier: Moving, stage: Stage): boolean {
  if (stage.still) return later.timeMs >= earlier.timeMs + stillMs;
  const hasEntered = leftOf(earlier, later.timeMs, stage) + earlier.width + gap <= stage.width;
  const endMs = earlier.timeMs + movingMs; // the later one is faster if it is longer
  return later.timeMs >= endMs || (hasEntered && leftOf(later, endMs, stage) >= 0);
}

/**
 * The lanes of texts that are sorted by time, by id. One for which no lane is free is left out, unless it is always shown. The result depends on the texts and the
 * stage alone, so it is the same whenever it is computed.
 */
export function placeInLanes(list: readonly Moving[], stage: Stage): Map<string, number> {
  const last: (Moving | undefined)[] = Array.from({ length: Math.max(1, stage.lanes) }, () => undefined);
  const placed = new Map<string, number>();
  for (const m of list) {
    let lane = last.findIndex((before) => !before || follows(m, before, stage));
    if (lane < 0 && m.always) lane = last.reduce((best, before, n) => (before!.timeMs < last[best]!.timeMs ? n : best), 0);
    if (lane < 0) continue;
    last[lane] = m;
    placed.set(m.id, lane);
  }
  return placed;
}
