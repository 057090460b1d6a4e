import { useEffect } from "react";
import type { OfficialAccount } from "../gen/rialto/chat/v1/official_pb.js";
import { useOnline, useUser } from "./hooks.js";
import { useRialto, useSnapshot } from "./context.js";

/** The official account that a user is, read again when the component is shown. Undefined for any other user, and until it is known. */
export function useOfficialAccount(user: string): OfficialAccount | undefined {
  const client = useRialto();
  const online = useOnline();
  const official = useUser(user)?.official ?? false;
  useEffect(() => {
    if (official && online) client.official.load({ user }).catch(() => {}); // what is known stays
  }, [client, user, official, online]);
  return useSnapshot((c) => (official ? c.official.view(user) : undefined));
}
