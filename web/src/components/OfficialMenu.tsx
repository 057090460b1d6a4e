import type { OfficialAccount, OfficialMenuEntry, OfficialMenuItem } from "@rialto-im/client";
import { useOfficialAccount } from "@rialto-im/client/react";
import { DropdownMenu } from "radix-ui";
import { Link } from "wouter";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { path } from "../routes.js";
import menuStyles from "../ui/Menu.module.css";
import "./official.css";

/** What the chat with an official account has above the composer: its menu, and a button to follow it. */
export function OfficialMenu({ user, conversation }: { user: string; conversation: string }) {
  const client = useClient();
  const t = useText();
  const account = useOfficialAccount(user);
  const { run, busy, error } = useAction();
  if (!account || account.disabled) return null;
  const choose = (entry: number, item: number, of: OfficialMenuItem) => {
    const { action } = of;
    if (action.case === "url") window.open(action.value, "_blank", "noopener,noreferrer");
    else if (action.case === "text") void run(() => client.send(conversation, { case: "text", value: action.value }));
    else if (action.case === "reply") void run(() => client.official.tap(user, entry, item));
  };
  if (account.menu.length === 0 && account.following && account.role === 0) return null;
  return (
    <div className="official-menu" role="toolbar" aria-label={t("officialMenu")}>
      {error && <p className="error" role="alert">{error}</p>}
      {!account.following && <button className="primary small" disabled={busy} onClick={() => void run(() => client.official.follow(user))}>{t("follow")}</button>}
      {account.menu.map((e, n) => (
        <Entry key={n} entry={e} onChoose={(item, of) => choose(n, item, of)} />
      ))}
      {account.role !== 0 && <Link href={path.official(account.user)} className="button">{t("officialManage")}</Link>}
    </div>
  );
}

function Entry({ entry, onChoose }: { entry: OfficialMenuEntry; onChoose: (item: number, of: OfficialMenuItem) => void }) {
  const title = entry.item!.title;
  if (entry.items.length === 0) return <button onClick={() => onChoose(0, entry.item!)}><bdi>{title}</bdi></button>;
  return (
    <DropdownMenu.Root modal={false}>
      <DropdownMenu.Trigger asChild><button><bdi>{title}</bdi> <span aria-hidden="true">▴</span></button></DropdownMenu.Trigger>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className={menuStyles["menu"]} side="top" align="start" sideOffset={4} collisionPadding={8}>
          {entry.items.map((item, n) => <DropdownMenu.Item key={n} className={menuStyles["item"]} onSelect={() => onChoose(n + 1, item)}><bdi>{item.title}</bdi></DropdownMenu.Item>)}
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

/** What the page of an official account has in place of the relations between people. */
export function OfficialActions({ account }: { account: OfficialAccount }) {
  const client = useClient();
  const t = useText();
  const { run, busy, error } = useAction();
  const { user, following, role } = account;
  return (
    <>
      <p className="muted">{t("followers", { n: account.followers })}</p>
      {error && <p className="error" role="alert">{error}</p>}
      <div className="buttons">
        {user !== client.me && <button disabled={busy} onClick={() => void run(() => (following ? client.official.unfollow(user) : client.official.follow(user)))}>{t(following ? "unfollow" : "follow")}</button>}
        {account.handle && <Link href={path.chat(account.handle)} className="button">{t("aChannel")}</Link>}
        {role !== 0 && <Link href={path.official(user)} className="button">{t("officialManage")}</Link>}
      </div>
    </>
  );
}
