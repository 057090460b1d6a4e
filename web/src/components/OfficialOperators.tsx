import { OfficialRole, type OfficialAccount, type OfficialOperator } from "@rialto-im/client";
import { useRef, useState, type FormEvent } from "react";
import { useAction, type RunAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { Menu, MenuItem } from "../ui/Menu.js";
import { UserAvatar } from "./Avatar.js";
import { PickPeople } from "./PickPeople.js";

/** Who acts for an account. Its admins change the list. */
export function OfficialOperators({ account }: { account: OfficialAccount }) {
  const t = useText();
  const { run, busy, error } = useAction();
  const { operators } = account;
  const admin = account.role === OfficialRole.ADMIN;
  return (
    <div className="stack">
      <p className="muted">{t("operatorsNote")}{!admin && ` ${t("operatorsByAdmins")}`}</p>
      {operators.length === 0 && <p className="empty">{t("noOperators")}</p>}
      <ul>{operators.map((o) => <li key={o.user}><Operator account={account} operator={o} admin={admin} run={run} /></li>)}</ul>
      {error && <p className="error" role="alert">{error}</p>}
      {admin && <AddOperators account={account} run={run} busy={busy} />}
    </div>
  );
}

function Operator({ account, operator, admin, run }: { account: OfficialAccount; operator: OfficialOperator; admin: boolean; run: RunAction }) {
  const client = useClient();
  const t = useText();
  const { user, role } = operator;
  const who = nameOf(client, user);
  const isAdmin = role === OfficialRole.ADMIN;
  const self = user === client.me;
  const give = (next: OfficialRole) => void run(() => client.official.setOperator(account.user, user, next));
  return (
    <div className="person" data-testid="operator">
      <UserAvatar user={user} size={32} />
      <span className="person-name"><bdi className="name">{nameOf(client, user, t)}</bdi><small>{t(isAdmin ? "roleAdmin" : "roleOperator")}</small></span>
      {admin && (
        <Menu label={who}>
          <MenuItem label={t(isAdmin ? "makeOperator" : "makeAdmin")} onSelect={() => give(isAdmin ? OfficialRole.OPERATOR : OfficialRole.ADMIN)} />
          <MenuItem label={t(self ? "stopOperating" : "removeOperator")} sure={self ? t("sureStopOperating") : t("sureRemoveOperator", { who })} onSelect={() => give(OfficialRole.UNSPECIFIED)} />
        </Menu>
      )}
    </div>
  );
}

function AddOperators({ account, run, busy }: { account: OfficialAccount; run: RunAction; busy: boolean }) {
  const client = useClient();
  const t = useText();
  const [picked, setPicked] = useState<string[]>();
  const [role, setRole] = useState(OfficialRole.OPERATOR);
  const button = useRef<HTMLButtonElement>(null);
  const add = (e: FormEvent) => {
    e.preventDefault();
    void run(async () => {
      for (const user of picked ?? []) {
        await client.official.setOperator(account.user, user, role);
        setPicked((p) => p?.filter((u) => u !== user)); // those who are left, if the next one is refused
      }
      setPicked(undefined);
      button.current?.focus(); // the form that had the focus is gone
    });
  };
  return (
    <>
      <button ref={button} aria-expanded={picked !== undefined} onClick={() => setPicked(picked ? undefined : [])}>{t("addOperators")}</button>
      {picked && (
        <form className="stack" onSubmit={add}>
          <PickPeople everyone picked={picked} onChange={setPicked} without={[account.user, ...account.operators.map((o) => o.user)]} />
          <label>{t("operatorRole")}<select value={role} onChange={(e) => setRole(Number(e.target.value))}><option value={OfficialRole.OPERATOR}>{t("roleOperator")}</option><option value={OfficialRole.ADMIN}>{t("roleAdmin")}</option></select></label>
          <button className="primary" disabled={busy || picked.length === 0}>{t("addOperators")}</button>
        </form>
      )}
    </>
  );
}
