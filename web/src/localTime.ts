/** A time as an input of a date and time shows it: that of the device, without seconds. */
export function localTime(ms: number): string {
  const d = new Date(ms);
  return new Date(ms - d.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
