import { FenceError, memoryStorage, tables, type Fence, type KeyRange, type Op, type Storage, type Store, type Table } from "./storage.js";

/** Rises with each new table. */
const version = 2;

/**
 * Keeps everything in IndexedDB, so that a reload, or a start without network, shows all at once. Where the browser refuses
 * it (some private windows), memory takes its place.
 */
export function indexedDBStorage(factory: IDBFactory = indexedDB): Storage {
  const fallback = memoryStorage();
  return {
    shared: true,
    async open(name) {
      try {
        return new IndexedDBStore(await openDatabase(factory, name));
      } catch (err) {
        console.warn("rialto: no IndexedDB, keeping data in memory only", err);
        return fallback.open(name);
      }
    },
  };
}

function openDatabase(factory: IDBFactory, name: string): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const req = factory.open(name, version);
    req.onupgradeneeded = () => {
      for (const t of tables) if (!req.result.objectStoreNames.contains(t)) req.result.createObjectStore(t);
    };
    req.onsuccess = () => {
      // A later version of the app in another tab may want to upgrade: let it.
      req.result.onversionchange = () => req.result.close();
      resolve(req.result);
    };
    req.onerror = () => reject(req.error);
    req.onblocked = () => reject(new Error("the database is held open by an older version"));
  });
}

function result<T>(req: IDBRequest<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    req.onsuccess = () => resolve(req.result);
    req.onerror = () => reject(req.error);
  });
}

function done(tx: IDBTransaction): Promise<void> {
  return new Promise((resolve, reject) => {
    tx.oncomplete = () => resolve();
    tx.onabort = () => reject(tx.error ?? new Error("the write was aborted"));
    tx.onerror = () => reject(tx.error);
  });
}

/** Does work in a transaction where its fence holds; else ends the transaction and rejects with a FenceError. */
async function fenced(tx: IDBTransaction, fence: Fence | undefined, work: () => void): Promise<void> {
  let passes = true;
  let failure: unknown;
  if (fence) {
    const req = tx.objectStore("meta").get(fence.counter) as IDBRequest<number | undefined>;
    req.onsuccess = () => {
      passes = (req.result ?? 0) === fence.value;
      if (!passes) tx.abort();
      else
        try {
          work();
        } catch (err) {
          failure = err; // what cannot be stored, as a function
          tx.abort();
        }
    };
  } else work();
  try {
    await done(tx);
  } catch (err) {
    throw passes ? (failure ?? err) : new FenceError();
  }
}

class IndexedDBStore implements Store {
  constructor(private readonly db: IDBDatabase) {}

  get<T>(table: Table, key: string): Promise<T | undefined> {
    return result(this.db.transaction(table).objectStore(table).get(key)) as Promise<T | undefined>;
  }

  async list<T>(table: Table, range: KeyRange = {}): Promise<T[]> {
    const store = this.db.transaction(table).objectStore(table);
    const keys = keyRange(range);
    if (!range.reverse) return (await result(store.getAll(keys, range.limit))) as T[];
    const out: T[] = [];
    return new Promise((resolve, reject) => {
      const req = store.openCursor(keys, "prev");
      req.onerror = () => reject(req.error);
      req.onsuccess = () => {
        const cursor = req.result;
        if (!cursor || out.length === range.limit) return resolve(out);
        out.push(cursor.value as T);
        cursor.continue();
      };
    });
  }

  async write(ops: readonly Op[], fence?: Fence): Promise<void> {
    if (ops.length === 0) return;
    const tables = new Set(ops.map((op) => op.table));
    if (fence) tables.add("meta");
    const tx = this.db.transaction([...tables], "readwrite");
    await fenced(tx, fence, () => {
      for (const op of ops) {
        const store = tx.objectStore(op.table);
        if (op.key === "*") store.clear();
        else if (op.upper !== undefined) store.delete(IDBKeyRange.bound(op.key, op.upper, false, true));
        else if (op.value === undefined) store.delete(op.key);
        else store.put(op.value, op.key);
      }
    });
  }

  async count(key: string, floor: number, fence?: Fence): Promise<number> {
    const tx = this.db.transaction("meta", "readwrite");
    const store = tx.objectStore("meta");
    let next = 0;
    await fenced(tx, fence, () => {
      const req = store.get(key) as IDBRequest<number | undefined>;
      req.onsuccess = () => {
        next = Math.max(req.result ?? 0, floor) + 1;
        store.put(next, key);
      };
    });
    return next;
  }

  async clear(keep: readonly string[], raise: string): Promise<void> {
    const tx = this.db.transaction([...tables], "readwrite");
    const meta = tx.objectStore("meta");
    const reads = [raise, ...keep].map((key) => ({ key, req: meta.get(key) as IDBRequest<number | undefined> }));
    // The answers come in the order of the requests.
    reads.at(-1)!.req.onsuccess = () => {
      for (const t of tables) tx.objectStore(t).clear();
      for (const { key, req } of reads) if (key !== raise && req.result !== undefined) meta.put(req.result, key);
      meta.put((reads[0]!.req.result ?? 0) + 1, raise);
    };
    await done(tx);
  }

  close(): void {
    this.db.close();
  }
}

function keyRange(range: KeyRange): IDBKeyRange | undefined {
  if (range.lower !== undefined && range.upper !== undefined) {
    return range.lower < range.upper ? IDBKeyRange.bound(range.lower, range.upper, false, true) : IDBKeyRange.only("");
  }
  if (range.lower !== undefined) return IDBKeyRange.lowerBound(range.lower);
  if (range.upper !== undefined) return IDBKeyRange.upperBound(range.upper, true);
  return undefined;
}
