import { hasPasskeys, type Passkey } from "@rialto-im/client";
import { useState, type FormEvent } from "react";
import { browserName, useClient } from "../client.js";
import { ago } from "../format.js";
import { dates } from "../intl.js";
import { getLocale, useText } from "../i18n.js";
import { useNow } from "../now.js";
import { Confirm } from "../ui/Confirm.js";

type Change = (action: () => Promise<unknown>) => void;

/** The passkeys of the user, and a form for one more. */
export function Passkeys({ passkeys, busy, change }: { passkeys: Passkey[]; busy: boolean; change: Change }) {
  const client = useClient();
  const t = useText();
  const [name, setName] = useState<string>(); // of the one to be added
  const [renamed, setRenamed] = useState<string>();
  const add = (e: FormEvent) => {
    e.preventDefault();
    change(async () => {
      await client.addPasskey((name ?? "").trim());
      setName(undefined);
    });
  };
  return (
    <section className="stack" aria-label={t("passkeys")}>
      <h3>{t("passkeys")}</h3>
      <p className="muted">{t("passkeysWhy")}</p>
      <ul className="members" data-testid="passkeys">
        {passkeys.map((p) => (
          <li key={p.id} className="person">
            {renamed === p.id ? <Rename passkey={p} busy={busy} change={change} onDone={() => setRenamed(undefined)} /> : <Row passkey={p} busy={busy} onRename={() => setRenamed(p.id)} change={change} />}
          </li>
        ))}
      </ul>
      {name === undefined && hasPasskeys() && <button type="button" disabled={busy} onClick={() => setName(browserName())}>{t("passkeyAdd")}</button>}
      {name !== undefined && (
        <form className="stack" onSubmit={add}>
          <label>{t("passkeyName")}<input name="passkey" required autoFocus maxLength={64} value={name} onChange={(e) => setName(e.target.value)} /></label>
          <div className="buttons">
            <button className="primary" disabled={busy}>{t("passkeyCreate")}</button>
            <button type="button" onClick={() => setName(undefined)}>{t("cancel")}</button>
          </div>
        </form>
      )}
    </section>
  );
}

function Row({ passkey, busy, onRename, change }: { passkey: Passkey; busy: boolean; onRename: () => void; change: Change }) {
  const client = useClient();
  const t = useText();
  const now = useNow();
  const { id, name, backedUp } = passkey;
  const added = Number(passkey.createdMs), used = Number(passkey.usedMs);
  return (
    <>
      <span className="person-name">
        <b>{name}</b>
        <small>{t("passkeyAdded", { when: dates(getLocale(), "dateAndTime").format(added) })}</small>
        <small>{used ? t("passkeyUsed", { when: ago(used, getLocale(), t, now) }) : t("passkeyUnused")}{backedUp && ` · ${t("passkeyBackedUp")}`}</small>
      </span>
      <button type="button" disabled={busy} onClick={onRename}>{t("passkeyRename")}</button>
      <Confirm label={t("passkeyRemove")} question={t("surePasskeyRemove", { name })} onYes={() => change(() => client.account.removePasskey({ id }))} />
    </>
  );
}

function Rename({ passkey, busy, change, onDone }: { passkey: Passkey; busy: boolean; change: Change; onDone: () => void }) {
  const client = useClient();
  const t = useText();
  const [name, setName] = useState(passkey.name);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    change(() => client.account.renamePasskey({ id: passkey.id, name: name.trim() }).then(onDone));
  };
  return (
    <form className="buttons" onSubmit={submit}>
      <input aria-label={t("passkeyName")} required autoFocus maxLength={64} value={name} onChange={(e) => setName(e.target.value)} />
      <button disabled={busy}>{t("save")}</button>
      <button type="button" onClick={onDone}>{t("cancel")}</button>
    </form>
  );
}
