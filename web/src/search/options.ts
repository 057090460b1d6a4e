import { HitKind, hitKey, type Client, type ConversationView, type Hit } from "@rialto-im/client";
import type { Search } from "@rialto-im/client/react";
import type { Key, Translate } from "../i18n.js";
import { path } from "../routes.js";
import type { Filter, FilterName, Typed, TypedFilter } from "./filters.js";

/** A value for the filter that is being typed. */
export interface Completion {
  readonly key: string;
  readonly label: string;
  readonly detail: string;
  readonly filter: Filter;
  readonly user?: string;
  readonly chat?: ConversationView;
}

const completionTitles: Record<FilterName, Key> = { from: "completeFrom", in: "completeIn", kind: "completeKind", type: "completeType", before: "completeBefore", after: "completeAfter", has: "completeHas" };

/** What one can choose in the search. */
export type Option =
  | { kind: "recent"; key: string; typed: Typed }
  | { kind: "completion"; key: string; completion: Completion }
  | { kind: "hit"; key: string; hit: Hit }
  | { kind: "more"; key: string; of: HitKind; loading: boolean };

export interface Section {
  readonly key: string;
  readonly title: string;
  readonly options: readonly Option[];
}

/** Kinds that this app can show; later ones are passed over. */
export const hitTitles: Partial<Record<HitKind, Key>> = { [HitKind.USER]: "foundUser", [HitKind.CONVERSATION]: "foundConversation", [HitKind.MESSAGE]: "foundMessage", [HitKind.POST]: "foundPost", [HitKind.VIDEO]: "foundVideo", [HitKind.FILE]: "foundFile" };

export interface Shown {
  /** The filter that is being typed. */
  readonly typing: TypedFilter | undefined;
  readonly completions: readonly Completion[];
  readonly recent: readonly Typed[];
  readonly search: Pick<Search, "groups" | "loadingMore">;
  /** Whether there is something to search for. */
  readonly searches: boolean;
}

/** Values for the filter that is being typed; or what was found; or the last searches. */
export function sectionsOf({ typing, completions, recent, search, searches }: Shown, t: Translate): readonly Section[] {
  if (typing) return completions.length === 0 ? [] : [{ key: "completions", title: t(completionTitles[typing.name]), options: completions.map((completion) => ({ kind: "completion", key: `completion/${completion.key}`, completion })) }];
  if (!searches) return recent.length === 0 ? [] : [{ key: "recent", title: t("recentSearches"), options: recent.map((typed) => ({ kind: "recent", key: `recent/${JSON.stringify(typed)}`, typed })) }];
  return shownGroups(search.groups).flatMap((g): Section[] => {
    const title = hitTitles[g.kind];
    if (!title || (g.hits.length === 0 && g.next === "")) return [];
    const hits = g.hits.map((hit): Option => ({ kind: "hit", key: hitKey(hit), hit }));
    const more: Option[] = g.next === "" ? [] : [{ kind: "more", key: `more/${g.kind}`, of: g.kind, loading: search.loadingMore === g.kind }];
    return [{ key: String(g.kind), title: t(title), options: [...hits, ...more] }];
  });
}

/** The groups with each message and post once: not also as such where it is shown as a file or a video. */
function shownGroups(groups: Search["groups"]): Search["groups"] {
  const better = new Set(groups.flatMap((g) => g.hits.flatMap((h) => (h.file || h.video ? [hitKey({ ...h, file: undefined, video: undefined } as Hit)] : []))));
  return groups.map((g) => ({ ...g, hits: g.hits.filter((h) => !better.has(hitKey(h))) }));
}

/** Where a hit leads: a person to the chat with them, where there is one, or else to their profile. */
export function hitPath({ user, conversation, message, post }: Hit, client: Pick<Client, "conversations" | "me">): string {
  if (user) {
    const chat = directWith(user.id, client);
    return chat === undefined ? path.user(user.id) : path.chat(chat);
  }
  if (conversation) return path.chat(conversation.id);
  if (message) return path.message(message.conversation, Number(message.seq));
  return path.post(post?.id ?? "");
}

/** The chat with a user, which is on this device. */
export function directWith(user: string, client: Pick<Client, "conversations" | "me">): string | undefined {
  return user === client.me ? undefined : client.conversations().find((c) => c.peer === user)?.id;
}

/** How many hits are shown, and whether there are more. */
export function countOf(groups: Search["groups"]): { n: number; more: boolean } {
  const known = shownGroups(groups).filter((g) => hitTitles[g.kind] !== undefined);
  return { n: known.reduce((sum, g) => sum + g.hits.length, 0), more: known.some((g) => g.next !== "") };
}
