import { useOfficialAccount } from "@rialto-im/client/react";
import { useEffect } from "react";
import { useAction } from "../action.js";
import { useClient, useOnline } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { Page } from "../ui/Page.js";
import { Tabs } from "../ui/Tabs.js";
import { Broadcasts } from "./Broadcasts.js";
import "./official.css";
import { OfficialFollowers } from "./OfficialFollowers.js";
import { OfficialMenuEditor } from "./OfficialMenuEditor.js";
import { OfficialOperators } from "./OfficialOperators.js";
import { OfficialReplies } from "./OfficialReplies.js";

/** Where operators manage an official account: its broadcasts, followers, operators, menu and automatic replies. */
export function OfficialPage({ user }: { user: string }) {
  const client = useClient();
  const t = useText();
  const online = useOnline();
  const account = useOfficialAccount(user);
  const { run, error } = useAction();
  useEffect(() => {
    if (!online) return;
    client.refreshUser(user); // whether it is official
    void run(() => client.official.load({ user }));
  }, [client, user, online]);
  return (
    <Page title={nameOf(client, user)} error={error}>
      {!account && !error && <p className="empty" role="status">{t("loading")}</p>}
      {account?.role === 0 && <p className="empty" role="status">{t("officialNotYours")}</p>}
      {account && account.role !== 0 && (
        <Tabs
          key={user}
          label={t("officialManage")}
          tabs={[
            { id: "broadcasts", label: t("broadcasts"), content: <Broadcasts account={account} /> },
            { id: "followers", label: t("officialFollowers"), content: <OfficialFollowers account={account} />, fresh: true },
            { id: "operators", label: t("officialOperators"), content: <OfficialOperators account={account} />, fresh: true },
            { id: "menu", label: t("officialMenuTab"), content: <OfficialMenuEditor account={account} /> },
            { id: "replies", label: t("officialRepliesTab"), content: <OfficialReplies account={account} /> },
          ]}
        />
      )}
    </Page>
  );
}
