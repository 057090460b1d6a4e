import { useCallback, useEffect, useState } from "react";

interface Page<Row> {
  rows: Row[];
  /** Of the page that follows; empty: there is none. */
  next: string;
}

/** The rows of a list, which is read in pages. load must not change between renders, unless the list does. */
export function useRows<Row>(load: (page: string, signal?: AbortSignal) => Promise<Page<Row>>, fail: (err: unknown) => string) {
  const [rows, setRows] = useState<readonly Row[]>();
  const [next, setNext] = useState("");
  const [error, setError] = useState("");
  const read = useCallback(
    async (page: string, signal?: AbortSignal) => {
      try {
        const read = await load(page, signal);
        setRows((list) => (page === "" ? read.rows : [...(list ?? []), ...read.rows]));
        setNext(read.next);
        setError("");
      } catch (err) {
        if (!signal?.aborted) setError(fail(err));
      }
    },
    [load, fail],
  );
  useEffect(() => {
    const ended = new AbortController();
    void read("", ended.signal);
    return () => ended.abort();
  }, [read]);
  const more = next === "" ? undefined : () => void read(next);
  return { rows, error, more, reload: () => void read("") };
}
