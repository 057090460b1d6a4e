import { useOfficialAccount } from "@rialto-im/client/react";
import { useEffect, useState } from "react";
import { useAction } from "../action.js";
import { useClient, useOnline } from "../client.js";
import { errorText } from "../errors.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { Page } from "../ui/Page.js";
import { UserAvatar } from "./Avatar.js";
import { OfficialActions } from "./OfficialMenu.js";
import { Peer, Who } from "./InfoPanel.js";

/** The page of a person, given by their handle or id. */
export function Person({ who, onOpen }: { who: string; onOpen: (conversation: string) => void }) {
  const client = useClient();
  const t = useText();
  const { run, error, setError } = useAction();
  const user = useUser(who, setError);
  const name = user ? nameOf(client, user) : "";
  return (
    <Page title={name || t("profile")} error={error}>
      {user ? (
        <>
          <div className="info-who"><UserAvatar user={user} size={96} presence /><Who user={user} /></div>
          {user === client.me && <OwnAccount user={user} />}
          {user !== client.me && (
            <>
              <div className="buttons"><button className="primary small" onClick={() => run(async () => onOpen((await client.openDirect(user)).id))}>{t("message")}</button></div>
              <Peer key={user} user={user} run={run} />
            </>
          )}
        </>
      ) : (
        <p className="empty" role="status">{t(error || user === "" ? "nobody" : "loading")}</p>
      )}
    </Page>
  );
}

/** What somebody who is logged in as an official account has on their own page. */
function OwnAccount({ user }: { user: string }) {
  const account = useOfficialAccount(user);
  return account ? <OfficialActions account={account} /> : null;
}

/** The id of a user; empty where there is nobody of that handle or id, undefined until it is known. */
function useUser(who: string, onError: (text: string) => void): string | undefined {
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
