import { RialtoError } from "./errors.js";

/**
 * What the client keeps on the device. Keys are strings, values are plain data (what structured cloning takes), and a
 * write is all or nothing.
 */
export interface Store {
  get<T>(table: Table, key: string): Promise<T | undefined>;
  /** The values of keys with lower <= key < upper, in rising order, or falling where reverse. */
  list<T>(table: Table, range?: KeyRange): Promise<T[]>;
  /** Where the fence does not hold, it writes nothing and rejects with a FenceError. */
  write(ops: readonly Op[], fence?: Fence): Promise<void>;
  /** Counts up: max(stored, floor) + 1, stored at once and never given twice, also to several tabs. The fence is as that of write. */
  count(key: string, floor: number, fence?: Fence): Promise<number>;
  /** Removes everything but the counters named keep, and counts another one up by 1: all or nothing. */
  clear(keep: readonly string[], raise: string): Promise<void>;
  close(): void;
}

/** A condition of a write, checked in the same transaction: a counter has this value. One that never counted has 0. */
export interface Fence {
  counter: string;
  value: number;
}

export class FenceError extends Error {
  override readonly name = "FenceError";
}

export type Table = "meta" | "conversations" | "messages" | "outbox" | "relations" | "users" | "uploads";
export const tables: readonly Table[] = ["meta", "conversations", "messages", "outbox", "relations", "users", "uploads"];

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

/** The counter of a user's sign-outs on this device. */
const signOuts = "sign_outs";

/**
 * The store of a user until they sign out, in this window or another one. Each sign-out raises a counter, and each write names the
 * counter's value at the sign-in: what is under way then, as a file that is being added, writes nothing any more.
 */
export class UserStore implements Store {
  private constructor(
    private readonly inner: Store,
    private readonly fence: Fence,
    private readonly onSignedOut: () => void,
  ) {}

  /** onSignedOut is called when a write finds that the user has signed out. */
  static async open(inner: Store, onSignedOut: () => void): Promise<UserStore> {
    return new UserStore(inner, { counter: signOuts, value: (await inner.get<number>("meta", signOuts)) ?? 0 }, onSignedOut);
  }

  get<T>(table: Table, key: string): Promise<T | undefined> {
    return this.inner.get(table, key);
  }

  list<T>(table: Table, range?: KeyRange): Promise<T[]> {
    return this.inner.list(table, range);
  }

  write(ops: readonly Op[]): Promise<void> {
    return this.inner.write(ops, this.fence).catch((err: unknown) => this.failed(err));
  }

  count(key: string, floor: number): Promise<number> {
    return this.inner.count(key, floor, this.fence).catch((err: unknown) => this.failed(err));
  }

  /** Signs out: removes everything but some counters, and refuses what is written later, in all windows. */
  clear(keep: readonly string[]): Promise<void> {
    return this.inner.clear(keep, signOuts);
  }

  close(): void {
    this.inner.close();
  }

  private failed(err: unknown): never {
    if (!(err instanceof FenceError)) throw err;
    this.onSignedOut();
    throw new RialtoError("unauthenticated", "signed out in another window", "logged_out");
  }
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

  private passes(fence: Fence | undefined): boolean {
    return !fence || ((this.table("meta").get(fence.counter) as number | undefined) ?? 0) === fence.value;
  }

  write(ops: readonly Op[], fence?: Fence): Promise<void> {
    if (!this.passes(fence)) return Promise.reject(new FenceError());
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

  count(key: string, floor: number, fence?: Fence): Promise<number> {
    if (!this.passes(fence)) return Promise.reject(new FenceError());
    const meta = this.table("meta");
    const next = Math.max((meta.get(key) as number | undefined) ?? 0, floor) + 1;
    meta.set(key, next);
    return Promise.resolve(next);
  }

  clear(keep: readonly string[], raise: string): Promise<void> {
    const meta = this.table("meta");
    const kept = keep.flatMap((key) => (meta.has(key) ? [[key, meta.get(key)] as const] : []));
    const raised = ((meta.get(raise) as number | undefined) ?? 0) + 1;
    for (const t of this.data.values()) t.clear();
    for (const [key, value] of kept) meta.set(key, value);
    meta.set(raise, raised);
    return Promise.resolve();
  }

  close(): void {}
}
