import type { OfficialAccount } from "@rialto-im/client";
import { useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { Dialog } from "../ui/Dialog.js";
import { longestLabel } from "./LabelDialog.js";

/** Renames a label of followers. Two of one name become one. */
export function RenameLabel({ account, label, onRenamed, onClose }: { account: OfficialAccount; label: string; onRenamed: (name: string) => void; onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, busy, error } = useAction();
  const [name, setName] = useState(label);
  const wanted = name.trim();
  const save = (e: FormEvent) => {
    e.preventDefault();
    void run(async () => {
      await client.official.renameLabel(account.user, label, wanted);
      onRenamed(wanted);
      onClose();
    });
  };
  return (
    <Dialog title={t("renameLabel")} onClose={onClose}>
      <form className="stack" onSubmit={save}>
        <label>{t("labelName")}<input data-first required dir="auto" maxLength={longestLabel} value={name} onChange={(e) => setName(e.target.value)} /></label>
        {wanted !== label && account.labels.includes(wanted) && <p className="muted" role="status">{t("labelsMerge")}</p>}
        {error && <p className="error" role="alert">{error}</p>}
        <button className="primary" disabled={busy || !wanted || wanted === label}>{t("save")}</button>
      </form>
    </Dialog>
  );
}
