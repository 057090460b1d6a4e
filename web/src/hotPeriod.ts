const dayMs = 86_400_000;

/** When the day or the week began whose likes are compared, by the server's clock: UTC, and weeks begin on Monday. */
export function periodStart(period: "today" | "week", now: number): number {
  const day = Math.floor(now / dayMs);
  return (period === "today" ? day : day - ((day + 3) % 7)) * dayMs; // day 0 was a Thursday
}
