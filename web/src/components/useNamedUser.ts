import { useEffect, useState } from "react";
import { useClient, useOnline } from "../client.js";
import { errorText } from "../errors.js";

/** The id of a user, given by handle or id; empty where there is nobody of that handle or id, undefined until it is known. */
export function useNamedUser(who: string, onError: (text: string) => void): string | undefined {
  const client = useClient();
  const online = useOnline();
  const [found, setFound] = useState<string>();
  useEffect(() => {
    if (!online) return;
    let stale = false;
    const load = async () => {
      // A handle may consist of digits, too: it is looked for first.
      const byHandle = await client.account.getUsers({ handles: [who] });
      const users = byHandle.users.length === 0 && /^[1-9]\d{0,19}$/.test(who) ? (await client.account.getUsers({ users: [who] })).users : byHandle.users;
      client.takeUsers(users);
      return users[0]?.id ?? "";
    };
    load().then((id) => !stale && setFound(id), (err: unknown) => !stale && onError(errorText(err)));
    return () => {
      stale = true;
    };
  }, [client, who, online]);
  return found;
}
