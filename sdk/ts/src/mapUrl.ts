import type { LocationOf } from "./kinds.js";

/**
 * The address of a map that shows a place; undefined if the pattern, as hello.map_url has it, is empty or no https address. Degrees are plain decimals with seven digits, which is
 * about a centimetre.
 */
export function mapUrl(pattern: string, { latitude, longitude }: Pick<LocationOf, "latitude" | "longitude">): string | undefined {
  if (!pattern.startsWith("https://")) return undefined;
  const degrees = (n: number) => Number(n.toFixed(7)).toFixed(7).replace(/\.?0+$/, "");
  return pattern.replaceAll("{latitude}", degrees(latitude)).replaceAll("{longitude}", degrees(longitude));
}
