import { isThread } from "@rialto-im/client";
import { useClient } from "../client.js";
import { getLocale, useText, type Key, type Translate } from "../i18n.js";
import { dates } from "../intl.js";
import { nameOf, titleOf } from "../names.js";
import { dayMs, dayOf, kindNames, parseDay, plainFilter, typeNames, type Filter, type FilterName, type SearchedKind, type SearchedType, type TypedFilter } from "../search/filters.js";
import type { Completion } from "../search/options.js";
import { usePeople } from "./useMentioning.js";

const most = 8;

export const kindTexts: Record<SearchedKind, Key> = { user: "foundUser", conversation: "foundConversation", message: "foundMessage", post: "foundPost", video: "foundVideo", file: "foundFile" };
export const typeTexts: Record<SearchedType, Key> = { image: "typeImage", video: "typeVideo", audio: "typeAudio", document: "typeDocument", archive: "typeArchive", other: "typeOther" };

/** Values that complete a filter. near is the chat that is open. */
export function useCompletions(typing: TypedFilter | undefined, near: string | undefined): readonly Completion[] {
  const client = useClient();
  const t = useText();
  const value = typing?.value.replace(/^@/u, "") ?? "";
  const people = usePeople(typing?.name === "from" ? value : undefined);
  switch (typing?.name) {
    case "from": {
      const found: Completion[] = people.map(({ user, name, handle }) => ({ key: user!, label: nameOf(client, user!) || name, detail: `@${handle}`, filter: { name: "from", user: user! }, user: user! }));
      const own = client.user(client.me);
      const me: Completion = { key: "me", label: t("you"), detail: own ? `@${own.handle}` : "", filter: { name: "from", user: client.me }, user: client.me };
      return ([me.label, "me", "我", own?.handle ?? ""].some((s) => begins(s, value)) ? [me, ...found] : found).slice(0, most);
    }
    case "in": {
      const chats = client.conversations().filter((c) => !isThread(c) && titleOf(c).toLowerCase().includes(value.toLowerCase()));
      const sorted = [...chats.filter((c) => c.id === near), ...chats.filter((c) => c.id !== near)];
      return sorted.slice(0, most).map((c) => ({ key: c.id, label: titleOf(c), detail: "", filter: { name: "in", conversation: c.id }, chat: c }));
    }
    case "kind":
      return kindNames.filter((k) => begins(k, value) || t(kindTexts[k]).toLowerCase().includes(value.toLowerCase())).map((kind) => ({ key: kind, label: t(kindTexts[kind]), detail: `kind:${kind}`, filter: { name: "kind", kind } }));
    case "type":
      return typeNames.filter((k) => begins(k, value) || t(typeTexts[k]).toLowerCase().includes(value.toLowerCase())).map((type) => ({ key: type, label: t(typeTexts[type]), detail: `type:${type}`, filter: { name: "type", type } }));
    case "before":
    case "after":
      return daysFor(typing.name, value, t);
    case "has":
      return begins("link", value) || t("hasLink").includes(value) ? [{ key: "link", label: t("hasLink"), detail: "has:link", filter: { name: "has", what: "link" } }] : [];
    default:
      return [];
  }
}

/** What a finished filter in the text means: also a handle, where its user is known here. */
export function useResolve(): (name: FilterName, value: string) => Filter | undefined {
  const client = useClient();
  return (name, value) => {
    if (name !== "from") return plainFilter(name, value);
    if (value.toLowerCase() === "me" || value === "我") return { name, user: client.me };
    const handle = value.replace(/^@/u, "").toLowerCase();
    const known = [client.me, ...client.relations().keys()].find((u) => client.user(u)?.handle === handle);
    return known === undefined || handle === "" ? undefined : { name, user: known };
  };
}

function begins(text: string, typed: string): boolean {
  return text.toLowerCase().startsWith(typed.toLowerCase());
}

/** The day that is typed, or days that are often meant. */
function daysFor(name: "before" | "after", value: string, t: Translate): readonly Completion[] {
  const of = (day: string, label: string): Completion => ({ key: day, label, detail: dayText(day), filter: { name, day } });
  const typed = parseDay(value);
  if (typed !== undefined) return [of(typed, typed)];
  const ago = (years: number, months: number, days: number) => {
    const now = new Date();
    return dayOf(new Date(now.getFullYear() - years, now.getMonth() - months, now.getDate() - days));
  };
  const days: [Key, string][] = [["today", ago(0, 0, 0)], ["yesterday", ago(0, 0, 1)], ["weekAgo", ago(0, 0, 7)], ["monthAgo", ago(0, 1, 0)], ["yearAgo", ago(1, 0, 0)]];
  return days.filter(([label, day]) => begins(t(label), value) || begins(day, value)).map(([label, day]) => of(day, t(label)));
}

export function dayText(day: string): string {
  return dates(getLocale(), "dayOfYear").format(dayMs(day));
}
