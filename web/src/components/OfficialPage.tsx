import { useOfficialAccount } from "@rialto-im/client/react";
import { useEffect } from "react";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { Page } from "../ui/Page.js";
import { Broadcasts } from "./Broadcasts.js";
import "./official.css";
import { OfficialMenuEditor } from "./OfficialMenuEditor.js";
import { OfficialReplies } from "./OfficialReplies.js";

/** Where operators manage an official account: its menu, its automatic replies and its broadcasts. */
export function OfficialPage({ user }: { user: string }) {
  const client = useClient();
  const t = useText();
  const account = useOfficialAccount(user);
  useEffect(() => client.refreshUser(user), [client, user]); // whether it is official
  const manages = account !== undefined && account.role !== 0;
  return (
    <Page title={nameOf(client, user)}>
      {!manages && <p className="empty" role="status">{t(account ? "officialNotYours" : "loading")}</p>}
      {manages && (
        <>
          <section className="stack" aria-label={t("broadcasts")}><h3>{t("broadcasts")}</h3><Broadcasts account={account} /></section>
          <section className="stack" aria-label={t("officialMenu")}><h3>{t("officialMenu")}</h3><OfficialMenuEditor key={account.user} account={account} /></section>
          <section className="stack" aria-label={t("officialReplies")}><h3>{t("officialReplies")}</h3><OfficialReplies key={account.user} account={account} /></section>
        </>
      )}
    </Page>
  );
}
