import type { AgentWork } from "@rialto-im/client/react";

/** The badge of what waits for an agent: tickets in the queues, and those with unread messages that the agent serves; and others, as requests. */
export function badgeOf(work: readonly AgentWork[], others = 0): { n: number; text: string } {
  const n = work.reduce((sum, w) => sum + w.waiting + w.unread, others);
  if (n > 99) return { n, text: "99+" };
  return { n, text: work.some((w) => w.hasMore) ? `${n}+` : String(n) };
}
