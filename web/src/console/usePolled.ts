import { useCallback, useEffect, useState } from "react";

/**
 * Calls a function at once, and again some time after each answer, as long as the page is visible. The latest answer is kept while a later call fails.
 * load must be stable; it gets a signal that aborts when the component goes.
 */
export function usePolled<T>(load: (signal: AbortSignal) => Promise<T>, everyMs: number, fail: (err: unknown) => string) {
  const [value, setValue] = useState<T>();
  const [error, setError] = useState("");
  const [round, setRound] = useState(0);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  useEffect(() => {
    const ended = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const next = async () => {
      clearTimeout(timer);
      timer = undefined;
      if (document.visibilityState === "hidden") return;
      try {
        const loaded = await load(ended.signal);
        if (ended.signal.aborted) return;
        setValue(() => loaded);
        setError("");
      } catch (err) {
        if (ended.signal.aborted) return;
        setError(fail(err));
      }
      timer = setTimeout(next, everyMs);
    };
    const seen = () => void (timer === undefined && next());
    document.addEventListener("visibilitychange", seen);
    void next();
    return () => {
      ended.abort();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [load, everyMs, fail, round]);
  return { value, error, reload };
}
