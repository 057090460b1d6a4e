import type { AgentWork } from "@rialto-im/client/react";

/** A badge that counts waiting tickets, the agent's tickets with unread messages, and other items such as friend requests. */
export function badgeOf(work: readonly AgentWork[], others = 0): { n: number; text: string } {
  const n = work.reduce((sum, w) => sum + w.waiting + w.unread, others);
  if (n > 99) return { n, text: "99+" };
  return { n, text: work.some((w) => w.hasMore) ? `${n}+` : String(n) };
}
