import type { User } from "@rialto-im/client";
import { useEffect, useState } from "react";
import { useClient } from "../client.js";
import { errorText } from "../errors.js";

const afterKeyMs = 250;

/** Users that a query finds, a moment after the last key; nothing while there is no query. onError keeps its identity. */
export function useUserSearch(query: string, onError: (text: string) => void): User[] | undefined {
  const client = useClient();
  const [found, setFound] = useState<User[] | undefined>();
  useEffect(() => {
    const q = query.trim();
    if (!q) return setFound(undefined);
    let stale = false;
    onError("");
    const timer = setTimeout(() => {
      client.account.searchUsers({ query: q }).then(
        (r) => {
          if (stale) return;
          client.takeUsers(r.users);
          setFound(r.users.filter((u) => u.id !== client.me).map((u) => ({ ...u, fetchedMs: Date.now() })));
        },
        (err: unknown) => !stale && onError(errorText(err)),
      );
    }, afterKeyMs);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [query, client, onError]);
  return found;
}
