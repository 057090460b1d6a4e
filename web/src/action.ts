import { useCallback, useRef, useState } from "react";
import { errorText } from "./errors.js";

/** Runs an action of a view, and shows its error there. */
export type RunAction = (action: () => Promise<unknown>) => Promise<void>;

/** What runs a view's actions, whether one is under way, and the text of the last error: "" while there is none. */
export function useAction(): { run: RunAction; busy: boolean; error: string; setError: (text: string) => void } {
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const running = useRef(0);
  const run: RunAction = useCallback(async (action) => {
    setError("");
    setBusy(++running.current > 0);
    try {
      await action();
    } catch (err) {
      setError(errorText(err));
    } finally {
      setBusy(--running.current > 0);
    }
  }, []);
  return { run, busy, error, setError };
}
