import { memoryStorage, tables, type KeyRange, type Op, type Storage, type Store, type Table } from "./storage.js";

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
    const req = factory.open(name, 1);
    req.onupgradeneeded = () => {
      for (const t of tables) req.result.createObjectStore(t);
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

  async write(ops: readonly Op[]): Promise<void> {
    if (ops.length === 0) return;
    const tx = this.db.transaction([...new Set(ops.map((op) => op.table))], "readwrite");
    for (const op of ops) {
      const store = tx.objectStore(op.table);
      if (op.key === "*") store.clear();
      else if (op.upper !== undefined) store.delete(IDBKeyRange.bound(op.key, op.upper, false, true));
      else if (op.value === undefined) store.delete(op.key);
      else store.put(op.value, op.key);
    }
    await done(tx);
  }

  async count(key: string, floor: number): Promise<number> {
    const tx = this.db.transaction("meta", "readwrite");
    const store = tx.objectStore("meta");
    let next = 0;
    const req = store.get(key) as IDBRequest<number | undefined>;
    req.onsuccess = () => {
      next = Math.max(req.result ?? 0, floor) + 1;
      store.put(next, key);
    };
    await done(tx);
    return next;
  }

  async clear(): Promise<void> {
    const tx = this.db.transaction([...tables], "readwrite");
    for (const t of tables) tx.objectStore(t).clear();
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
