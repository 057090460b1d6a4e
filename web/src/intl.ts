/** A language of the app. */
export type Locale = "en" | "zh";

/** The form of times, numbers and lists: that of one's own region where it speaks the language of the app, as 24 hours in en-GB. */
export function tag(l: Locale, own: readonly string[] = typeof navigator === "undefined" ? [] : navigator.languages): string {
  return own.find((o) => o.split("-")[0] === l) ?? (l === "zh" ? "zh-CN" : "en");
}

/** Formatters are costly to make: one is made for each language and form, when it is first used. */
function formatters<Form extends string, F>(forms: Record<Form, (tag: string) => F>): (l: Locale, form: Form) => F {
  const made = new Map<string, F>();
  return (l, form) => {
    const language = tag(l);
    const key = `${language} ${form}`;
    let f = made.get(key);
    if (!f) made.set(key, (f = forms[form](language)));
    return f;
  };
}

const date = (options: Intl.DateTimeFormatOptions) => (language: string) => new Intl.DateTimeFormat(language, options);
const number = (options: Intl.NumberFormatOptions) => (language: string) => new Intl.NumberFormat(language, options);

export const dates = formatters({
  clock: date({ hour: "2-digit", minute: "2-digit" }),
  full: date({ dateStyle: "full", timeStyle: "medium" }),
  dateAndTime: date({ dateStyle: "medium", timeStyle: "short" }),
  weekday: date({ weekday: "short" }),
  weekdayAndTime: date({ weekday: "long", hour: "2-digit", minute: "2-digit" }),
  day: date({ month: "short", day: "numeric" }),
  dayOfYear: date({ year: "numeric", month: "short", day: "numeric" }),
  heading: date({ month: "long", day: "numeric", weekday: "short" }),
  headingOfYear: date({ year: "numeric", month: "long", day: "numeric", weekday: "short" }),
});

export const numbers = formatters({
  plain: number({}),
  whole: number({ maximumFractionDigits: 0 }),
  short: number({ notation: "compact" }),
  tenths: number({ maximumFractionDigits: 1 }),
});

export const plurals = formatters({ cardinal: (language) => new Intl.PluralRules(language) });
const list = (type: "conjunction" | "disjunction") => (language: string) => new Intl.ListFormat(language, { type });
export const lists = formatters({ and: list("conjunction"), or: list("disjunction") });
/** As "5 minutes ago", or "yesterday" where the language has a word. */
export const relative = formatters({ auto: (language) => new Intl.RelativeTimeFormat(language, { numeric: "auto" }) });
