import type { OfficialAccount, OfficialFollower } from "@rialto-im/client";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { Dialog } from "../ui/Dialog.js";

/** In characters. */
export const longestLabel = 32;

interface Props {
  account: OfficialAccount;
  followers: readonly OfficialFollower[];
  onChanged: () => Promise<void>;
  onClose: () => void;
}

/** Sets labels on followers, and takes them off: those there are, or a new one. */
export function LabelDialog({ account, followers, onChanged, onClose }: Props) {
  const client = useClient();
  const t = useText();
  const { run, busy, error } = useAction();
  const [name, setName] = useState("");
  // Those who had been chosen when it was opened: a label that is taken off may remove them from the list behind it.
  const [users] = useState(() => followers.map((f) => f.user));
  const [had, setHad] = useState(() => new Map(followers.map((f) => [f.user, f.labels])));
  const count = (label: string) => [...had.values()].filter((labels) => labels.includes(label)).length;
  const field = useRef<HTMLInputElement>(null);
  const set = (label: string, on: boolean) =>
    run(async () => {
      await client.official.label(account.user, users, label, !on);
      setHad((before) => new Map([...before].map(([user, labels]) => [user, on ? [...new Set([...labels, label])] : labels.filter((l) => l !== label)])));
      if (label === name.trim()) setName("");
      await client.official.load({ user: account.user }); // its labels
      await onChanged();
    });
  const add = (e: FormEvent) => {
    e.preventDefault();
    void set(name.trim(), true);
    field.current?.focus(); // the button is disabled meanwhile
  };
  return (
    <Dialog title={t("labelsTitle", { n: users.length })} onClose={onClose}>
      <div className="stack">
        <ul className="label-choices">
          {account.labels.map((l) => <li key={l}><LabelChoice label={l} count={count(l)} of={users.length} onChange={(on) => void set(l, on)} /></li>)}
        </ul>
        <form className="new-label" onSubmit={add}>
          <input ref={field} data-first aria-label={t("newLabel")} placeholder={t("newLabel")} dir="auto" maxLength={longestLabel} value={name} onChange={(e) => setName(e.target.value)} />
          <button disabled={busy || !name.trim()}>{t("addLabel")}</button>
        </form>
        {error && <p className="error" role="alert">{error}</p>}
      </div>
    </Dialog>
  );
}

/** A label, which all, some or none of the chosen followers have. */
function LabelChoice({ label, count, of, onChange }: { label: string; count: number; of: number; onChange: (on: boolean) => void }) {
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (box.current) box.current.indeterminate = count > 0 && count < of;
  }, [count, of]);
  return (
    <label className="check">
      <input ref={box} type="checkbox" checked={count === of} onChange={(e) => onChange(e.target.checked)} />
      <bdi className="name">{label}</bdi>
    </label>
  );
}
