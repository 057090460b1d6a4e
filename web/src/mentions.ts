import { findMentions, joinMentions, splitMentions, type Content, type Mention, type Mentioned, type NamedMention } from "@rialto-im/client";
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
export function linkedParts(text: string, content: Content): LinkedPart[] {
  let at = 0;
  return splitMentions(text, content).flatMap(({ text, mentioned }): LinkedPart[] => {
    const from = at;
    at += text.length;
    return mentioned ? [{ from, to: at, mentioned }] : addresses(text).map((a) => ({ ...a, from: from + a.from, to: from + a.to }));
  });
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
    const of = JSON.stringify(mentioned);
    const taken = (n: string) => this.chosen.some((c) => c.name === n && JSON.stringify(c.mentioned) !== of);
    const label = `@${taken(`@${name}`) && handle ? handle : name}`;
    this.set([...this.chosen.filter((c) => c.name !== label), { name: label, mentioned }]);
    return label;
  }

  /** Takes the mentions of a message that is edited. */
  takeFrom(text: string, content: Content): void {
    this.set(splitMentions(text, content).flatMap((p) => (p.mentioned ? [{ name: p.text, mentioned: p.mentioned }] : [])));
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
