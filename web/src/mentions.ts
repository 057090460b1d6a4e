import { findMentions, joinMentions, splitMentions, type Mention, type Mentioned, type NamedMention, type WithMentions } from "@rialto-im/client";
import { addresses, type Range } from "./links.js";
import { storage as localStore, type KeyValueStorage } from "./storage.js";

/** What stands between an "@" and the cursor: names may be in any script, where no space separates words. */
const beingTyped = /(?<![A-Za-z0-9_.])@([^\s@]{0,32})$/u;

/** The part of a name that is being typed before the cursor, and where it begins; undefined where none is. */
export function typedName(text: string, cursor: number): { start: number; typed: string } | undefined {
  const [all, typed] = beingTyped.exec(text.slice(0, cursor)) ?? [];
  return all === undefined ? undefined : { start: cursor - all.length, typed: typed! };
}

/** A part of a text that links somewhere. */
export type LinkedPart = Range & ({ mentioned: Mentioned } | { href: string });

/** The mentions and web addresses in a text, in order. */
export function linkedParts(text: string, content: WithMentions): LinkedPart[] {
  let at = 0;
  return splitMentions(text, content).flatMap(({ text, mentioned }): LinkedPart[] => {
    const from = at;
    at += text.length;
    return mentioned ? [{ from, to: at, mentioned }] : addresses(text).map((a) => ({ ...a, from: from + a.from, to: from + a.to }));
  });
}

/** Takes a choice into the names that were chosen before, and gives the name that stands for it: the handle where somebody else has the same name. */
export function chosenName(before: readonly NamedMention[], name: string, handle: string, mentioned: Mentioned): { label: string; names: readonly NamedMention[] } {
  const of = JSON.stringify(mentioned);
  const taken = (n: string) => before.some((c) => c.name === n && JSON.stringify(c.mentioned) !== of);
  const label = `@${taken(`@${name}`) && handle ? handle : name}`;
  return { label, names: [...before.filter((c) => c.name !== label), { name: label, mentioned }] };
}

/** The names in a text that was written before. */
export function namesIn(text: string, content: WithMentions): readonly NamedMention[] {
  return splitMentions(text, content).flatMap((p) => (p.mentioned ? [{ name: p.text, mentioned: p.mentioned }] : []));
}

/** So many mentions a post or a comment has at most. */
const mostPostMentions = 50;

/** The mentions of a post or a comment with the names that were chosen for it. */
export function postMentions(text: string, names: readonly NamedMention[] = []): Pick<Mention, "start" | "length" | "user">[] {
  const { mentions } = joinMentions(findMentions(text, names));
  return mentions.slice(0, mostPostMentions).map(({ start, length, user }) => ({ start, length, user })); // drafts are stored as JSON
}

/** ChosenNames are the names that were chosen in a field. With a key, they are kept like the draft that they belong to. */
export class ChosenNames {
  private chosen: readonly NamedMention[];

  constructor(
    private readonly key?: string,
    private readonly storage: KeyValueStorage = localStore,
  ) {
    this.chosen = key === undefined ? [] : parsed(storage.getItem(key));
  }

  /** Takes a choice, and returns the name that stands for it: the handle where somebody else has the same name. */
  choose(name: string, handle: string, mentioned: NamedMention["mentioned"]): string {
    const { label, names } = chosenName(this.chosen, name, handle, mentioned);
    this.set(names);
    return label;
  }

  /** Takes the mentions of a message that is edited. */
  takeFrom(text: string, content: WithMentions): void {
    this.set(namesIn(text, content));
  }

  mentionsIn(text: string): readonly Mention[] {
    return joinMentions(findMentions(text, this.chosen)).mentions;
  }

  forget(): void {
    this.chosen = [];
    if (this.key !== undefined) this.storage.removeItem(this.key);
  }

  private set(chosen: readonly NamedMention[]): void {
    this.chosen = chosen;
    if (this.key === undefined) return;
    try {
      this.storage.setItem(this.key, JSON.stringify(chosen));
    } catch {
      // A full or forbidden storage: the names are known until the page is closed.
    }
  }
}

/** Names that were stored; none where something else was. */
function parsed(stored: string | null): readonly NamedMention[] {
  try {
    const list: unknown = JSON.parse(stored ?? "[]");
    return Array.isArray(list) ? list.filter(isNamed) : [];
  } catch {
    return [];
  }
}

function isNamed(value: unknown): value is NamedMention {
  if (typeof value !== "object" || value === null || !("name" in value) || !("mentioned" in value)) return false;
  return typeof value.name === "string" && value.name !== "" && typeof value.mentioned === "object" && value.mentioned !== null;
}
