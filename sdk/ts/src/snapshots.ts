import type { Relation } from "./model.js";

/** What views get while there is nothing: the same value each time. */
export const none: readonly never[] = [];
export const noRelations: ReadonlyMap<string, Relation> = new Map();

/** Snapshots keeps the lists that views read, for as long as nothing changes, and tells of changes once per turn of the event loop. */
export class Snapshots {
  private changed = false;
  private versionNumber = 0;
  /** Snapshots of the present version, and those of the version before it. */
  private readonly present = new Map<string, unknown>();
  private readonly before = new Map<string, unknown>();

  constructor(private readonly onChange: () => void) {}

  /** Rises with each change. */
  get version(): number {
    return this.versionNumber;
  }

  /** A list for views: the same array as before where its entries are the same. */
  list<T>(key: string, make: () => readonly T[]): readonly T[] {
    let list = this.present.get(key) as readonly T[] | undefined;
    if (list) return list;
    list = make();
    const was = this.before.get(key) as readonly T[] | undefined;
    if (was && was.length === list.length && was.every((v, i) => v === list![i])) list = was;
    this.present.set(key, list);
    return list;
  }

  /** Something that the lists show has changed. */
  touch(): void {
    for (const [key, list] of this.present) this.before.set(key, list);
    this.present.clear();
    this.versionNumber++;
    if (this.changed) return;
    this.changed = true;
    queueMicrotask(() => {
      this.changed = false;
      this.onChange();
    });
  }

  /** The user has left: their lists are not kept. */
  forget(): void {
    this.before.clear();
  }
}
