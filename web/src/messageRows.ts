import { Control_Action, type TicketStatus, type ChatMessage, type OutgoingMessage } from "@rialto-im/client";

/** A row of a message list: a message, or after all of them one that is on its way. */
export type MessageRow = { seq: number; m: ChatMessage } | { seq: undefined; o: OutgoingMessage };

/** Identifies a row of a list, for React. */
export function keyOf(row: MessageRow): string {
  return row.seq === undefined ? `o${row.o.clientSeq}` : String(row.seq);
}

interface Numbered {
  readonly seq: number;
}

/** What became of the loaded messages since they were last rendered. */
export interface Change<M> {
  /** What to render now: without new messages at the end while there are changes at the beginning. */
  messages: readonly M[];
  /** Messages came in, or went, at the beginning alone: the view keeps its distance from the end. */
  shift: boolean;
  /** These are other messages, as after a jump: nothing that was measured holds for them. */
  replaced: boolean;
}

/** Compares the loaded messages with those rendered before, both in order. */
export function changeOf<M extends Numbered>(before: readonly M[], now: readonly M[]): Change<M> {
  const first = now[0]?.seq;
  const wasFirst = before[0]?.seq;
  if (first === undefined || wasFirst === undefined || first === wasFirst) return { messages: now, shift: false, replaced: false };
  const last = now.at(-1)!.seq;
  const wasLast = before.at(-1)!.seq;
  if (first > wasLast || last < wasLast) return { messages: now, shift: false, replaced: true };
  return { messages: last === wasLast ? now : now.slice(0, indexFrom(now, wasLast + 1)), shift: true, replaced: false };
}

/** Index of the first message at or after a seq; their number where there is none. */
export function indexFrom(messages: readonly Numbered[], seq: number): number {
  let low = 0;
  let high = messages.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (messages[mid]!.seq < seq) low = mid + 1;
    else high = mid;
  }
  return low;
}

/**
 * The status that a ticket had before the entry at an index gave it one, if only other entries lie between: nobody writes in a resolved ticket,
 * so this is known where it ended.
 */
export function ticketStatusBefore(messages: readonly ChatMessage[], index: number): TicketStatus | undefined {
  if (statusOf(messages[index]) === undefined) return undefined;
  for (let i = index - 1; i >= 0 && messages[i]!.content.kind.case === "control"; i--) {
    const status = statusOf(messages[i]);
    if (status !== undefined) return status;
  }
  return undefined;
}

/** The status that an entry gives a ticket. */
function statusOf(m: ChatMessage | undefined): TicketStatus | undefined {
  const kind = m?.content.kind;
  return kind?.case === "control" && kind.value.action === Control_Action.TICKET ? kind.value.ticketStatus : undefined;
}

/** Where a view stands in what it scrolls through, in pixels. */
export interface Scroll {
  /** Height of the view. */
  view: number;
  /** What lies above the view. */
  above: number;
  /** What lies below the view. */
  below: number;
}

/** This near to the end, in pixels, somebody who scrolls down wants to follow it. */
export const nearEnd = 80;

/**
 * Whether a view follows the end after it moved. Only somebody who scrolls up stops following. Rows that are measured and a view that
 * changes its size move the view, too, and change how much there is to scroll.
 */
export function follows(was: boolean, before: Scroll, now: Scroll): boolean {
  if (now.below < 2) return true;
  const resized = before.view !== now.view || before.above + before.view + before.below !== now.above + now.view + now.below;
  if (now.below > before.below && !resized) return false;
  return was || (now.below < before.below && now.below < nearEnd);
}
