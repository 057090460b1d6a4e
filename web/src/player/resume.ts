/** So close to its beginning or end, a video begins again: a part of its length, and no more than some seconds. */
const marginPart = 0.1;
const mostMarginS = 5;

/** Where a video begins whose user was at a position; in seconds. */
export function resumeAt(positionMs: number, durationMs: number): number {
  const [at, duration] = [positionMs / 1_000, durationMs / 1_000];
  const margin = Math.min(mostMarginS, marginPart * duration);
  return at > margin && at < duration - margin ? Math.floor(at) : 0;
}
