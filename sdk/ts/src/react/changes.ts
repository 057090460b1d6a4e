import { useEffect } from "react";
import { useOwner, useRialto } from "./context.js";
import { useOnline } from "./hooks.js";

/** How often something is read again where no hint comes. */
const checkEveryMs = 60_000;
/** How long after a hint it is read again: the hints that follow at once share a read. */
const afterHintMs = 300;

/** Calls read when that of which an event tells may have changed, while the client is online. */
export function useChanges(event: "notifications" | "decisions", read: () => void): void {
  const client = useRialto();
  const online = useOnline();
  const owner = useOwner();
  useEffect(() => {
    if (!online) return;
    read();
    const check = () => document.visibilityState !== "hidden" && read();
    let soon: ReturnType<typeof setTimeout> | undefined;
    const stop = client.on(event, () => {
      soon ??= setTimeout(() => {
        soon = undefined;
        read();
      }, afterHintMs);
    });
    const timer = setInterval(check, checkEveryMs);
    document.addEventListener("visibilitychange", check);
    return () => {
      stop();
      clearTimeout(soon);
      clearInterval(timer);
      document.removeEventListener("visibilitychange", check);
    };
  }, [client, event, online, owner, read]);
}
