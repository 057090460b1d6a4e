import { FileType, HitKind, type SearchQuery } from "@rialto-im/client";

export type FilterName = "from" | "in" | "kind" | "type" | "before" | "after" | "has";

/** What narrows a search. A day is one of this device's calendar, as 2026-01-31. */
export type Filter =
  | { name: "from"; user: string }
  | { name: "in"; conversation: string }
  | { name: "kind"; kind: SearchedKind }
  | { name: "type"; type: SearchedType }
  | { name: "before" | "after"; day: string }
  | { name: "has"; what: "link" };

/** What somebody has typed and chosen in the search. */
export interface Typed {
  readonly text: string;
  readonly filters: readonly Filter[];
}

export const nothingTyped: Typed = { text: "", filters: [] };

/** The kinds that one can search for, with their names in the API and in what is typed. */
export const searchedKinds = { user: HitKind.USER, conversation: HitKind.CONVERSATION, message: HitKind.MESSAGE, post: HitKind.POST, video: HitKind.VIDEO, file: HitKind.FILE } as const;
export type SearchedKind = keyof typeof searchedKinds;
export const kindNames = Object.keys(searchedKinds) as SearchedKind[];

/** The types of files, likewise. */
export const searchedTypes = { image: FileType.IMAGE, video: FileType.VIDEO, audio: FileType.AUDIO, document: FileType.DOCUMENT, archive: FileType.ARCHIVE, other: FileType.OTHER } as const;
export type SearchedType = keyof typeof searchedTypes;
export const typeNames = Object.keys(searchedTypes) as SearchedType[];

/** So many characters a query may have, and so many writers. */
export const mostText = 256;
export const mostFrom = 20;

/** How filters are typed: as the server knows them, and in Chinese. */
const names: Record<string, FilterName> = { from: "from", in: "in", kind: "kind", type: "type", before: "before", after: "after", has: "has", 来自: "from", 位于: "in", 类型: "kind", 文件类型: "type", 早于: "before", 晚于: "after", 包含: "has" };
const word = new RegExp(`^(${Object.keys(names).join("|")})[:：](.*)$`, "iu");

/** A filter that is being typed: its name, what is behind the colon, and where in the text it is. */
export interface TypedFilter {
  readonly name: FilterName;
  readonly value: string;
  readonly start: number;
  readonly end: number;
}

function filterIn(text: string, start: number, end: number): TypedFilter | undefined {
  const [, name, value] = word.exec(text.slice(start, end)) ?? [];
  return name === undefined ? undefined : { name: names[name.toLowerCase()]!, value: value!, start, end };
}

/** The filter in which the cursor is. */
export function typedFilter(text: string, cursor: number): TypedFilter | undefined {
  const start = text.slice(0, cursor).search(/\S*$/u);
  return filterIn(text, start, cursor + text.slice(cursor).search(/\s|$/u));
}

/** What a value behind a colon means; undefined where it is not known here. */
export type Resolve = (name: FilterName, value: string) => Filter | undefined;

/** Takes filters that are typed to their end, with a space behind them, out of the text. */
export function takeFilters(typed: Typed, resolve: Resolve): Typed {
  let { text, filters } = typed;
  for (const m of [...typed.text.matchAll(/\S+(?=\s)/gu)].reverse()) {
    const found = filterIn(typed.text, m.index, m.index + m[0].length);
    const filter = found && resolve(found.name, found.value);
    if (!filter) continue;
    text = without(text, found);
    filters = withFilter(filters, filter);
  }
  return text === typed.text ? typed : { text, filters };
}

/** The text without a filter, and without the space behind it. */
export function without(text: string, { start, end }: Pick<TypedFilter, "start" | "end">): string {
  return text.slice(0, start) + text.slice(end).replace(/^\s/u, "");
}

/** Filters with one more. Of those of which a search has one, the new one takes the place of the old. */
export function withFilter(filters: readonly Filter[], filter: Filter): readonly Filter[] {
  if (filters.some((f) => isSame(f, filter))) return filters;
  const many = filter.name === "from" || filter.name === "kind" || filter.name === "type";
  const rest = many ? filters : filters.filter((f) => f.name !== filter.name);
  return filter.name === "from" && rest.filter((f) => f.name === "from").length >= mostFrom ? rest : [...rest, filter];
}

export function withoutFilter(filters: readonly Filter[], filter: Filter): readonly Filter[] {
  return filters.filter((f) => !isSame(f, filter));
}

export function isSame(a: Filter, b: Filter): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** What is sent: undefined where nothing is searched for. A filter that is still being typed is left out. */
export function queryOf({ text, filters }: Typed, typing?: TypedFilter): SearchQuery | undefined {
  const left = typing ? without(text, typing) : text;
  const words = /[\p{L}\p{N}]/u.test(left) ? left : ""; // the server finds letters and digits
  if (words.trim() === "" && filters.length === 0) return undefined;
  const of = <N extends FilterName>(name: N) => filters.filter((f): f is Extract<Filter, { name: N }> => f.name === name);
  const day = (name: "before" | "after") => filters.flatMap((f) => (f.name === name ? [dayMs(f.day)] : []))[0];
  return {
    text: forServer(words.trim()),
    typing: !/\s$/u.test(words) && words !== "",
    kinds: of("kind").map((f) => searchedKinds[f.kind]),
    from: of("from").map((f) => f.user),
    ...(of("in")[0] && { conversation: of("in")[0]!.conversation }),
    ...(day("before") !== undefined && { beforeMs: day("before")! }),
    ...(day("after") !== undefined && { afterMs: day("after")! }),
    ...(of("has").length > 0 && { hasLink: true }),
    ...(of("type").length > 0 && { fileTypes: of("type").map((f) => searchedTypes[f.type]) }),
  };
}

/** The text with filters by the names that the server knows, as one for a handle that is not known here. */
function forServer(text: string): string {
  return text.replace(/\S+/gu, (token) => {
    const found = filterIn(token, 0, token.length);
    return found ? `${found.name}:${found.value}` : token;
  });
}

/** A day as it is typed, as 2026-1-31, 2026/01/31 or 2026年1月31日; undefined where there is no such day. */
export function parseDay(text: string): string | undefined {
  const [, y, m, d] = /^(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})日?$/u.exec(text) ?? [];
  if (y === undefined) return undefined;
  const date = new Date(Number(y), Number(m) - 1, Number(d));
  const isDay = date.getFullYear() === Number(y) && date.getMonth() === Number(m) - 1 && date.getDate() === Number(d) && Number(y) >= 1970;
  return isDay ? dayOf(date) : undefined;
}

export function dayOf(date: Date): string {
  const two = (n: number) => String(n).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** When a day begins, on this device. */
export function dayMs(day: string): number {
  const [y, m, d] = day.split("-").map(Number);
  return Math.max(0, new Date(y!, m! - 1, d!).getTime());
}

/** Filters that a value says by itself. Others name a person or a chat. */
export function plainFilter(name: FilterName, value: string): Filter | undefined {
  const lower = value.toLowerCase();
  switch (name) {
    case "kind": {
      const kind = kindNames.find((k) => k === lower);
      return kind && { name, kind };
    }
    case "type": {
      const type = typeNames.find((k) => k === lower);
      return type && { name, type };
    }
    case "before":
    case "after": {
      const day = parseDay(value);
      return day === undefined ? undefined : { name, day };
    }
    case "has":
      return lower === "link" || value === "链接" ? { name, what: "link" } : undefined;
    default:
      return undefined;
  }
}
