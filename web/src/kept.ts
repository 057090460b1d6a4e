export type Kept = Pick<Storage, "length" | "key" | "getItem" | "setItem" | "removeItem">;

/** What this browser keeps of small things for this address; for the page's life alone where it is not allowed to. */
export const kept: Kept = open();

function open(): Kept {
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
