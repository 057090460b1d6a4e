import { parse } from "regexparam";
import { matchRoute } from "wouter";
import { navigate, useHistoryState, usePathname } from "wouter/use-browser-location";

export const sections = ["profile", "appearance", "notifications", "privacy", "password", "security", "sessions", "decisions", "data"] as const;
export type Section = (typeof sections)[number];
export const feedLists = ["foryou", "hot", "liked", "favourites", "history", "watched", "videos"] as const;
export type FeedList = (typeof feedLists)[number];
export type Area = "chats" | "notifications" | "feed" | "people" | "settings";

/** What an address shows. Each area has a list, and one of its things beside it. */
export type Place =
  | { area: "chats"; chat?: string; seq?: number; info?: true; invitation?: Invitation; channel?: string; room?: string }
  | { area: "notifications" }
  | { area: "feed"; list?: FeedList; post?: string; user?: string }
  | { area: "people"; user?: string; manages?: true; organization?: string; desk?: string }
  | { area: "settings"; section?: Section }
  /** Above the place that one came from. */
  | { area: "search" }
  | { area: "none" };

/** A group that one was invited to by a link, with a token or by the group's id. */
export type Invitation = { token: string } | { conversation: string };

/** Addresses of the app. They can be shared: whoever opens one signs in first, and is then there. */
export const path = {
  chats: "/",
  /** A chat by its id, or a channel by its handle. */
  chat: (id: string) => `/c/${id}`,
  message: (id: string, seq: number) => `/c/${id}/m/${seq}`,
  info: (id: string) => `/c/${id}/info`,
  /** A live room. */
  room: (id: string) => `/room/${id}`,
  notifications: "/notifications",
  feed: "/feed",
  feedList: (list: FeedList) => `/feed/${list}`,
  post: (id: string) => `/feed/${id}`,
  /** The posts of a user, by handle or id. */
  posts: (user: string) => `/feed/u/${encodeURIComponent(user)}`,
  people: "/people",
  /** A user by handle or id. */
  user: (user: string) => `/u/${encodeURIComponent(user)}`,
  /** Where operators manage an official account. */
  official: (user: string) => `/u/${encodeURIComponent(user)}/manage`,
  /** The address book of an organization. */
  organization: (id: string) => `/org/${id}`,
  /** A help desk: for customers, and for its agents. */
  desk: (id: string) => `/desk/${id}`,
  search: "/search",
  settings: "/settings",
  section: (s: Section) => `/settings/${s}`,
  join: (token: string) => `/join/${encodeURIComponent(token)}`,
  group: (id: string) => `/g/${encodeURIComponent(id)}`,
};

export const rootOf: Record<Area, string> = { chats: path.chats, notifications: path.notifications, feed: path.feed, people: path.people, settings: path.settings };

type Params = Record<string, string | undefined>;

const isId = (s: string | undefined): s is string => /^\d{1,20}$/.test(s ?? "");
const isSeq = (s: string | undefined): s is string => /^[1-9]\d{0,14}$/.test(s ?? "");
const isHandle = (s: string | undefined): s is string => /^@?[a-z0-9_.]{3,32}$/i.test(s ?? "") && !/^\d+$/.test(s ?? "");
const handleOf = (s: string) => s.replace("@", "").toLowerCase();
const isFeedList = (s: string | undefined): s is FeedList => feedLists.some((known) => known === s);
const isSection = (s: string | undefined): s is Section => sections.some((known) => known === s);

const patterns: [string, (p: Params) => Place | undefined][] = [
  ["/", () => ({ area: "chats" })],
  ["/c/:id", ({ id }) => (isId(id) ? { area: "chats", chat: id } : isHandle(id) ? { area: "chats", channel: handleOf(id) } : undefined)],
  ["/c/:id/info", ({ id }) => (isId(id) ? { area: "chats", chat: id, info: true } : undefined)],
  ["/c/:id/m/:seq", ({ id, seq }) => (isId(id) && isSeq(seq) ? { area: "chats", chat: id, seq: Number(seq) } : undefined)],
  ["/room/:id", ({ id }) => (isId(id) ? { area: "chats", room: id } : undefined)],
  ["/join/:token", ({ token }) => ({ area: "chats", invitation: { token: token! } })],
  ["/g/:id", ({ id }) => (isId(id) ? { area: "chats", invitation: { conversation: id } } : undefined)],
  ["/notifications", () => ({ area: "notifications" })],
  ["/feed", () => ({ area: "feed" })],
  ["/feed/:post", ({ post }) => (isId(post) ? { area: "feed", post } : isFeedList(post) ? { area: "feed", list: post } : undefined)],
  ["/feed/u/:user", ({ user }) => ({ area: "feed", user: user! })],
  ["/people", () => ({ area: "people" })],
  ["/u/:user", ({ user }) => ({ area: "people", user: user! })],
  ["/u/:user/manage", ({ user }) => (isId(user) ? { area: "people", user, manages: true } : undefined)],
  ["/org/:id", ({ id }) => (isId(id) ? { area: "people", organization: id } : undefined)],
  ["/desk/:id", ({ id }) => (isId(id) ? { area: "people", desk: id } : undefined)],
  ["/search", () => ({ area: "search" })],
  ["/settings", () => ({ area: "settings" })],
  ["/settings/:section", ({ section }) => (isSection(section) ? { area: "settings", section } : undefined)],
];

export function placeOf(pathname: string): Place {
  for (const [pattern, place] of patterns) {
    const [matches, params] = matchRoute(parse, pattern, pathname);
    if (matches) return place(decoded(params as Params)) ?? { area: "none" };
  }
  return { area: "none" };
}

function decoded(params: Params): Params {
  return Object.fromEntries(
    Object.entries(params).map(([k, v]) => {
      try {
        return [k, decodeURIComponent(v ?? "")];
      } catch {
        return [k, v]; // a percent sign that escapes nothing
      }
    }),
  );
}

/** Where closing what an address shows leads: from a panel to its chat, from a chat to the list. */
export function parentOf(place: Place): string {
  if (place.area === "none" || place.area === "search") return path.chats;
  if (place.area === "chats" && place.chat && (place.info || place.seq)) return path.chat(place.chat);
  if (place.area === "people" && place.user && place.manages) return path.user(place.user);
  return rootOf[place.area];
}

/** The address within this app that a link leads to; undefined for other pages, and for addresses that the app does not know. */
export function inside(href: string, origin = location.origin): string | undefined {
  try {
    const url = new URL(href);
    return url.origin === origin && url.search === "" && url.hash === "" && placeOf(url.pathname).area !== "none" ? url.pathname : undefined;
  } catch {
    return undefined;
  }
}

interface Entry {
  /** The address that this entry of the history was opened from. */
  from?: string;
  /** Tells this entry from others of the same address. */
  opened?: number;
}

/** Goes to an address. Replacing keeps what lies before it in the history. */
export function go(to: string, { replace = false }: { replace?: boolean } = {}): void {
  if (to === location.pathname) return;
  const state: Entry | null = replace ? (history.state as Entry | null) : { from: location.pathname, opened: performance.now() };
  navigate(to, { replace, state });
}

/** Closes what is shown. What was opened of a list of posts leads back to that list, and the search to where it was opened. */
export function goUp(): void {
  const place = placeOf(location.pathname);
  const { from } = (history.state as Entry | null) ?? {};
  const before = from === undefined ? undefined : placeOf(from);
  if (place.area === "search") return goBackTo(from ?? path.chats);
  const isOfList = place.area === "feed" && before?.area === "feed" && before.list !== undefined;
  goBackTo(isOfList ? from! : parentOf(place));
}

/** Returns to an address. It is the same as Back where one came from there, so that Back does not open again what is closed. */
export function goBackTo(parent: string): void {
  if ((history.state as Entry | null)?.from === parent) history.back();
  else go(parent, { replace: true });
}

export function usePlace(): Place {
  return placeOf(usePathname());
}

/** Tells when an address was opened once more, as that of a message that a search found again. */
export function useOpened(): number | undefined {
  return useHistoryState<Entry | null>()?.opened;
}

/** The router's location, by which its links go. */
export function useAppLocation(): [string, typeof go] {
  return [usePathname(), go];
}

/** Links of earlier versions: #join=TOKEN and #group=ID. */
export function redirectOld(): void {
  const [, what, value] = /^#(join|group)=(.+)$/.exec(location.hash) ?? [];
  if (value) navigate(what === "join" ? path.join(value) : path.group(value), { replace: true });
}
