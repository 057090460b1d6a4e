import { asError, isOffline } from "./errors.js";

/** Work that nobody waits for: its failure is told to the console, and never ends a process. */
export function inBackground(work: Promise<unknown> | undefined): void {
  work?.catch((err: unknown) => {
    if (!isOffline(err) && asError(err).code !== "unauthenticated") console.warn("rialto:", err);
  });
}
