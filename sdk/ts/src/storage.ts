/**
 * What the client keeps on the device. Keys are strings, values are plain data (what structured cloning takes), and a
 * write is all or nothing.
 */
export interface Store {
  get<T>(table: Table, key: string): Promise<T | undefined>;
  /** The values of keys with lower <= key < upper, in rising order, or falling where reverse. */
  list<T>(table: Table, range?: KeyRange): Promise<T[]>;
  write(ops: readonly Op[]): Promise<void>;
  /** Counts up: max(stored, floor) + 1, stored at once and never given twice, also to several tabs. */
  count(key: string, floor: number): Promise<number>;
  clear(): Promise<void>;
  close(): void;
}

export type Table = "meta" | "conversations" | "messages" | "outbox" | "relations" | "users";
export const tables: readonly Table[] = ["meta", "conversations", "messages", "outbox", "relations", "users"];

export interface KeyRange {
  lower?: string;
  upper?: string;
  reverse?: boolean;
  limit?: number;
}

/** An op puts a value, or, without one, deletes a key, or all keys from key to upper, or a whole table where key is "*". */
export interface Op {
  table: Table;
  key: string;
  upper?: string;
  value?: unknown;
}

/** Storage opens stores by name: one for the session, one per user. */
export interface Storage {
  /** Set where several windows see the same stores: then one of them, by a Web Lock, keeps what the server says. */
  readonly shared?: boolean;
  open(name: string): Promise<Store>;
}

/** Numbers as keys whose order is that of the numbers. */
export function numberKey(n: number): string {
  return String(n).padStart(16, "0");
}

/** Keeps everything in memory: for Node, tests, and browsers that refuse storage. */
export function memoryStorage(): Storage {
  const stores = new Map<string, MemoryStore>();
  return {
    open(name) {
      let store = stores.get(name);
      if (!store) stores.set(name, (store = new MemoryStore()));
      return Promise.resolve(store);
    },
  };
}

class MemoryStore implements Store {
  private readonly data = new Map<Table, Map<string, unknown>>(tables.map((t) => [t, new Map<string, unknown>()]));

  private table(t: Table): Map<string, unknown> {
    return this.data.get(t)!;
  }

  get<T>(table: Table, key: string): Promise<T | undefined> {
    return Promise.resolve(structuredClone(this.table(table).get(key)) as T | undefined);
  }

  list<T>(table: Table, range: KeyRange = {}): Promise<T[]> {
    const keys = [...this.table(table).keys()]
      .filter((k) => (range.lower === undefined || k >= range.lower) && (range.upper === undefined || k < range.upper))
      .sort();
    if (range.reverse) keys.reverse();
    return Promise.resolve(keys.slice(0, range.limit).map((k) => structuredClone(this.table(table).get(k)) as T));
  }

  write(ops: readonly Op[]): Promise<void> {
    for (const op of ops) {
      const table = this.table(op.table);
      if (op.key === "*") table.clear();
      else if (op.upper !== undefined) {
        for (const k of [...table.keys()]) if (k >= op.key && k < op.upper) table.delete(k);
      } else if (op.value === undefined) table.delete(op.key);
      else table.set(op.key, structuredClone(op.value));
    }
    return Promise.resolve();
  }

  count(key: string, floor: number): Promise<number> {
    const meta = this.table("meta");
    const next = Math.max((meta.get(key) as number | undefined) ?? 0, floor) + 1;
    meta.set(key, next);
    return Promise.resolve(next);
  }

  clear(): Promise<void> {
    for (const t of this.data.values()) t.clear();
    return Promise.resolve();
  }

  close(): void {}
}
