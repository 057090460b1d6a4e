import { useState, type FormEvent } from "react";
import { useClient } from "../client.js";
import { errorText } from "../errors.js";
import { useText } from "../i18n.js";
import { Dialog } from "./Dialog.js";
import { PickPeople } from "./PickPeople.js";

export function NewGroup({ onClose, onMade }: { onClose: () => void; onMade: (id: string) => void }) {
  const client = useClient();
  const t = useText();
  const [title, setTitle] = useState("");
  const [picked, setPicked] = useState<string[]>([]);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const submit = async (e: FormEvent) => {
    e.preventDefault();
    if (busy) return;
    setBusy(true);
    setError("");
    try {
      const c = await client.createGroup(title, picked);
      onMade(c.id);
      onClose();
    } catch (err) {
      setError(errorText(err));
      setBusy(false);
    }
  };
  return (
    <Dialog title={t("newGroup")} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <label>
          {t("groupTitle")}
          <input required maxLength={100} value={title} onChange={(e) => setTitle(e.target.value)} data-first />
        </label>
        <PickPeople picked={picked} onChange={setPicked} />
        {error && <p className="error" role="alert">{error}</p>}
        <button className="primary" disabled={busy}>{t("create")}</button>
      </form>
    </Dialog>
  );
}
