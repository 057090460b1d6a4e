/** Position in a user's sync stream. A new epoch begins after an unclean stop of the server. */
export interface StreamPosition {
  epoch: number;
  seq: number;
}

export type Verdict = "next" | "old" | "gap";

/**
 * Judges an event against the position reached. Each event names the one before it: it is the next one only where that is
 * our last. An event of a later epoch always counts as a gap, since what the earlier one still held is known to the server
 * alone; one of an earlier epoch is old.
 */
export function judge(at: StreamPosition | undefined, event: StreamPosition & { prev: number }): Verdict {
  if (!at) return "gap";
  if (event.epoch < at.epoch) return "old";
  if (event.epoch > at.epoch) return "gap";
  if (event.seq <= at.seq) return "old";
  return event.prev === at.seq ? "next" : "gap";
}

export function isAfter(a: StreamPosition, b: StreamPosition): boolean {
  return a.epoch !== b.epoch ? a.epoch > b.epoch : a.seq > b.seq;
}

export function samePosition(a: StreamPosition | undefined, b: StreamPosition | undefined): boolean {
  return a?.epoch === b?.epoch && a?.seq === b?.seq;
}
