import type { Calls } from "./calls.js";

/** What each page gets. */
export interface PageProps {
  calls: Calls;
  /** The operator may change things. */
  mayChange: boolean;
  /** Ends the session if an error says that the key is not valid any more, and returns the error's text. */
  fail: (err: unknown) => string;
}
