import { RialtoError, hasPasskeys, suggestsPasskeys } from "@rialto-im/client";
import { useEffect, useRef, useState } from "react";
import type { RunAction } from "../action.js";
import { client } from "../client.js";

/** Options of the server are good for 5 minutes. */
const renewMs = 4 * 60_000;

/** Signs in with a passkey. Who gives none stays where they are. */
function logIn(how: { suggest?: boolean; signal?: AbortSignal }): Promise<void> {
  return client.logInWithPasskey(how).catch((err: unknown) => {
    if (!(err instanceof RialtoError) || err.reason !== "passkey_canceled") throw err;
  });
}

/**
 * Offers passkeys while a form is open: among the suggestions of its field for the handle, where the browser can, and by what it returns for a button;
 * that is undefined where there are none.
 */
export function usePasskeyLogin(on: boolean, run: RunAction): (() => void) | undefined {
  const [asking, setAsking] = useState(false);
  const suggestions = useRef<AbortController>(undefined);
  useEffect(() => {
    if (!on || asking || !hasPasskeys()) return;
    const leave = new AbortController();
    suggestions.current = leave;
    const suggest = async () => {
      if (!(await suggestsPasskeys())) return;
      for (let old: AbortSignal | undefined; !leave.signal.aborted && (!old || old.aborted); ) {
        old = AbortSignal.timeout(renewMs);
        await logIn({ suggest: true, signal: AbortSignal.any([leave.signal, old]) });
      }
    };
    suggest().catch((err: unknown) => run(() => Promise.reject(err))); // the form stays usable meanwhile
    return () => leave.abort();
  }, [on, asking, run]);
  if (!on || !hasPasskeys()) return undefined;
  return () => {
    suggestions.current?.abort(); // a browser asks for one passkey at a time
    setAsking(true);
    void run(() => logIn({}).finally(() => setAsking(false)));
  };
}
