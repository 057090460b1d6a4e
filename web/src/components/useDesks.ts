import type { HelpDesk } from "@rialto-im/client";
import { useHelpDesks } from "@rialto-im/client/react";
import { useEffect } from "react";
import { client } from "../client.js";

/** The help desks. They are read again when the app is shown or online again. */
export function useDesks(): readonly HelpDesk[] {
  useEffect(() => {
    const load = () => void client.helpDesks.load().catch(() => {}); // what is known stays
    window.addEventListener("focus", load);
    return () => window.removeEventListener("focus", load);
  }, []);
  return useHelpDesks();
}
