import type { KeyValueStorage } from "../storage.js";
import { kindNames, parseDay, typeNames, type Filter, type Typed } from "./filters.js";

export const recentPrefix = "recent-searches/";
const most = 8;

/** The last searches of a user. They stay in this browser, and are removed when the user signs out. */
export class RecentSearches {
  constructor(
    private readonly storage: KeyValueStorage,
    private readonly me: () => string,
  ) {}

  list(): readonly Typed[] {
    try {
      const stored: unknown = JSON.parse(this.storage.getItem(this.key()) ?? "[]");
      return Array.isArray(stored) ? stored.filter(isTyped).slice(0, most) : [];
    } catch {
      return []; // something else was stored
    }
  }

  /** Puts a search before the others. */
  add({ text, filters }: Typed): void {
    const added: Typed = { text: text.trim(), filters };
    if (added.text === "" && filters.length === 0) return;
    const same = JSON.stringify(added);
    this.store([added, ...this.list().filter((s) => JSON.stringify(s) !== same)].slice(0, most));
  }

  clear(): void {
    this.storage.removeItem(this.key());
  }

  private store(list: readonly Typed[]): void {
    try {
      this.storage.setItem(this.key(), JSON.stringify(list));
    } catch {
      // A full or forbidden storage: the search itself works.
    }
  }

  private key(): string {
    return recentPrefix + this.me();
  }
}

function isTyped(value: unknown): value is Typed {
  return isObject(value) && typeof value["text"] === "string" && Array.isArray(value["filters"]) && value["filters"].every(isFilter);
}

function isFilter(value: unknown): value is Filter {
  if (!isObject(value)) return false;
  switch (value["name"]) {
    case "from":
      return isId(value["user"]);
    case "in":
      return isId(value["conversation"]);
    case "kind":
      return kindNames.some((k) => k === value["kind"]);
    case "type":
      return typeNames.some((k) => k === value["type"]);
    case "before":
    case "after":
      return typeof value["day"] === "string" && parseDay(value["day"]) === value["day"];
    case "has":
      return value["what"] === "link";
    default:
      return false;
  }
}

function isId(value: unknown): value is string {
  return typeof value === "string" && /^\d{1,20}$/.test(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
