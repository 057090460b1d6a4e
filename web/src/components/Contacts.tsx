import { ContactKind } from "@rialto-im/client";
import { useState, type FormEvent } from "react";
import { useText, type Key } from "../i18n.js";
import { useClient } from "../client.js";
import { Confirm } from "../ui/Confirm.js";

const labels: Record<ContactKind, Key> = { [ContactKind.UNSPECIFIED]: "email", [ContactKind.EMAIL]: "email", [ContactKind.PHONE]: "phone" };

/** Where the user can be reached: an address of each kind, which is confirmed by a code that is sent there. */
export function Contacts({ kinds, contacts, busy, change }: { kinds: ContactKind[]; contacts: { kind: ContactKind; address: string }[]; busy: boolean; change: (action: () => Promise<unknown>) => void }) {
  const client = useClient();
  const t = useText();
  return (
    <section className="stack" aria-label={t("contacts")}>
      <h3>{t("contacts")}</h3>
      <p className="muted">{t("contactsWhy")}</p>
      {kinds.map((kind) => {
        const address = contacts.find((c) => c.kind === kind)?.address;
        if (!address) return <NewContact key={kind} kind={kind} busy={busy} change={change} />;
        return (
          <p key={kind} className="buttons">
            <span>{address}</span>
            <Confirm label={t("contactRemove")} question={t("sureContactRemove", { address })} onYes={() => change(() => client.account.removeContact({ kind }))} />
          </p>
        );
      })}
    </section>
  );
}

function NewContact({ kind, busy, change }: { kind: ContactKind; busy: boolean; change: (action: () => Promise<unknown>) => void }) {
  const client = useClient();
  const t = useText();
  const [address, setAddress] = useState("");
  const [code, setCode] = useState("");
  const [sent, setSent] = useState(false);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    change(async () => {
      if (sent) return client.account.verifyContact({ kind, code: code.trim() });
      await client.account.setContact({ kind, address: address.trim() });
      setSent(true);
    });
  };
  return (
    <form className="stack" onSubmit={submit}>
      <label>{t(labels[kind])}<input name={kind === ContactKind.PHONE ? "phone" : "email"} type={kind === ContactKind.PHONE ? "tel" : "email"} autoComplete={kind === ContactKind.PHONE ? "tel" : "email"} required value={address} onChange={(e) => { setAddress(e.target.value); setSent(false); }} /></label>
      {sent && <label>{t("contactCode")}<input name="code" autoComplete="one-time-code" autoCapitalize="characters" spellCheck={false} required value={code} onChange={(e) => setCode(e.target.value)} /></label>}
      <button disabled={busy}>{t(sent ? "contactVerify" : "contactSend")}</button>
    </form>
  );
}
