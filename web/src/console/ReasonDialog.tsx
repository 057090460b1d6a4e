import { useEffect, useRef, useState, type FormEvent } from "react";
import { useText } from "./text.js";

interface Props {
  question: string;
  /** What is done, on the button that does it. */
  label: string;
  danger?: boolean;
  /** Does it, and returns the text of the error if it fails. */
  act: (reason: string) => Promise<string | undefined>;
  onClose: () => void;
  /** Called in place of onClose when it was done. */
  onDone?: (() => void) | undefined;
}

/** Asks before a change, and for its reason. It stays open while the change fails. */
export function ReasonDialog({ question, label, danger = false, act, onClose, onDone = onClose }: Props) {
  const t = useText();
  const dialog = useRef<HTMLDialogElement>(null);
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  useEffect(() => dialog.current?.showModal(), []);
  const submit = async (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    setBusy(true);
    const failed = await act((e.currentTarget.elements.namedItem("reason") as HTMLInputElement).value.trim());
    setBusy(false);
    if (failed) setError(failed);
    else onDone();
  };
  return (
    <dialog ref={dialog} aria-label={label} onClose={(e) => {
        e.stopPropagation(); // it may be in another dialog
        onClose();
      }}>
      <form className="stack" onSubmit={(e) => void submit(e)}>
        <p>{question}</p>
        <label>
          {t("reason")}
          <input name="reason" maxLength={500} autoComplete="off" />
        </label>
        {error && <p className="error" role="alert">{error}</p>}
        <div className="buttons end">
          <button type="button" onClick={onClose}>{t("cancel")}</button>
          <button className={danger ? "primary danger-fill" : "primary small"} disabled={busy}>{label}</button>
        </div>
      </form>
    </dialog>
  );
}
