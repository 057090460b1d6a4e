const samples = 64;

/** The loudest of each of 64 parts of some levels, or all of them where there are fewer. */
export function resample(levels: readonly number[]): Uint8Array {
  const n = Math.min(samples, levels.length);
  return Uint8Array.from({ length: n }, (_, i) => Math.max(...levels.slice(Math.floor((i * levels.length) / n), Math.max(1, Math.floor(((i + 1) * levels.length) / n)))));
}
