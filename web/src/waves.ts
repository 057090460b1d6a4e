// The waves in which an official account sends a broadcast.

/** The most waves of a broadcast. */
export const mostWaves = 10;
/** The longest time between two waves, in seconds: a week. */
export const longestWaveSeconds = 604_800;

/** Units for the time between two waves, in seconds. */
export const waveUnits = { minutes: 60, hours: 3_600, days: 86_400 } as const;
export type WaveUnit = keyof typeof waveUnits;

/**
 * The waves that a text lists, as percentages of the followers with commas or spaces between. The last wave reaches all followers: 100 is
 * added where it is missing. Undefined if the percentages do not rise from at least 1 to at most 100, or are too many.
 */
export function readWaves(text: string): number[] | undefined {
  const parts = text.split(/[\s,，、%]+/).filter((p) => p !== "");
  if (parts.length === 0 || !parts.every((p) => /^\d{1,3}$/.test(p))) return undefined;
  const waves = parts.map(Number);
  if (waves.at(-1)! < 100) waves.push(100);
  const rises = waves.every((w, i) => w > (waves[i - 1] ?? 0) && w <= 100);
  return rises && waves.length <= mostWaves ? waves : undefined;
}

/** The time between two waves in seconds; undefined unless it is a whole number of units, above 0, and at most a week. */
export function readWaveSeconds(count: string, unit: WaveUnit): number | undefined {
  const seconds = Number(count) * waveUnits[unit];
  return /^\d+$/.test(count.trim()) && seconds > 0 && seconds <= longestWaveSeconds ? seconds : undefined;
}
