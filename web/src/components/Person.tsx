import { useOfficialAccount } from "@rialto-im/client/react";
import { Link } from "wouter";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { path } from "../routes.js";
import { Page } from "../ui/Page.js";
import { UserAvatar } from "./Avatar.js";
import { OfficialActions } from "./OfficialMenu.js";
import { Peer, Who } from "./InfoPanel.js";
import { useNamedUser } from "./useNamedUser.js";

/** The page of a person, given by their handle or id. */
export function Person({ who, onOpen }: { who: string; onOpen: (conversation: string) => void }) {
  const client = useClient();
  const t = useText();
  const { run, error, setError } = useAction();
  const user = useNamedUser(who, setError);
  const name = user ? nameOf(client, user) : "";
  return (
    <Page title={name || t("profile")} error={error}>
      {user ? (
        <>
          <div className="info-who"><UserAvatar user={user} size={96} presence /><Who user={user} /></div>
          {user === client.me && <><div className="buttons"><Posts user={user} /></div><OwnAccount user={user} /></>}
          {user !== client.me && (
            <>
              <div className="buttons"><button className="primary small" onClick={() => run(async () => onOpen((await client.openDirect(user)).id))}>{t("message")}</button><Posts user={user} /></div>
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

function Posts({ user }: { user: string }) {
  const t = useText();
  return <Link href={path.posts(user)} className="button">{t("posts")}</Link>;
}

/** What somebody who is logged in as an official account has on their own page. */
function OwnAccount({ user }: { user: string }) {
  const account = useOfficialAccount(user);
  return account ? <OfficialActions account={account} /> : null;
}
