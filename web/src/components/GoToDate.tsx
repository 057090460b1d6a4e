import { useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { go, path } from "../routes.js";
import { Dialog } from "../ui/Dialog.js";

/** A day of the device as an input of a date shows it. */
function dayOf(ms: number): string {
  const d = new Date(ms);
  return new Date(ms - d.getTimezoneOffset() * 60_000).toISOString().slice(0, 10);
}

/** Chooses a day, at first that of a time, and opens a chat at the first message from then on. */
export function GoToDate({ conversation, ms, onClose }: { conversation: string; ms: number; onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, busy, error, setError } = useAction();
  const [date, setDate] = useState(dayOf(ms));
  const submit = (e: FormEvent) => {
    e.preventDefault();
    void run(async () => {
      const seq = await client.seqAt(conversation, new Date(`${date}T00:00`).getTime());
      if (seq === undefined) return setError(t("nothingSince"));
      onClose();
      go(path.message(conversation, seq));
    });
  };
  return (
    <Dialog title={t("goToDate")} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <label>{t("date")}<input type="date" name="date" required data-first max={dayOf(Date.now())} value={date} onChange={(e) => setDate(e.target.value)} /></label>
        {error && <p className="error" role="alert">{error}</p>}
        <div className="buttons end">
          <button type="button" onClick={onClose}>{t("cancel")}</button>
          <button className="primary small" disabled={busy || date === ""}>{t("goThere")}</button>
        </div>
      </form>
    </Dialog>
  );
}
