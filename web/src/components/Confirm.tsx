import { useState } from "react";
import { useText } from "../i18n.js";
import { Dialog } from "./Dialog.js";

/** A button for what cannot be taken back: it asks first. */
export function Confirm({ label, question, onYes }: { label: string; question: string; onYes: () => void }) {
  const t = useText();
  const [asking, setAsking] = useState(false);
  return (
    <>
      <button className="danger" onClick={() => setAsking(true)}>{label}</button>
      {asking && (
        <Dialog title={label} onClose={() => setAsking(false)}>
          <p>{question}</p>
          <div className="buttons end">
            <button type="button" data-first onClick={() => setAsking(false)}>{t("cancel")}</button>
            <button type="button" className="primary danger-fill" onClick={() => { setAsking(false); onYes(); }}>{label}</button>
          </div>
        </Dialog>
      )}
    </>
  );
}
