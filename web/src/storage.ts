export type KeyValueStorage = Pick<Storage, "length" | "key" | "getItem" | "setItem" | "removeItem">;

/** The browser's localStorage. Where the browser forbids it, a map that lives as long as the page. */
export const storage: KeyValueStorage = open();

function open(): KeyValueStorage {
  try {
    localStorage.getItem("");
    return localStorage;
  } catch {
    const map = new Map<string, string>();
    return {
      get length() {
        return map.size;
      },
      key: (i) => [...map.keys()][i] ?? null,
      getItem: (k) => map.get(k) ?? null,
      setItem: (k, v) => void map.set(k, v),
      removeItem: (k) => void map.delete(k),
    };
  }
}
