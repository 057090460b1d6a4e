/** Position in a user's sync stream. A new epoch begins after an unclean stop of the server. */
export interface StreamPosition {
  epoch: number;
  seq: number;
}

export type EventOrder = "next" | "old" | "gap";

/**
 * Compares an event with the position reached. An event names the one before it, and is the next one if that is the position.
 * An event of a later epoch is always a gap: only the server knows what the earlier epoch still had. One of an earlier epoch is old.
 */
export function classifyEvent(at: StreamPosition | undefined, event: StreamPosition & { prev: number }): EventOrder {
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
