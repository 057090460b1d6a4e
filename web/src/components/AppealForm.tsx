import { useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";

/** Appeals against a decision of moderators, once. */
export function AppealForm({ decision, onSent }: { decision: string; onSent?: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, busy, error } = useAction();
  const [text, setText] = useState("");
  const [sent, setSent] = useState(false);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    void run(async () => {
      await client.appealDecision(decision, text.trim());
      setSent(true);
      onSent?.();
    });
  };
  if (sent) return <p role="status">{t("decisionAppealSent")}</p>;
  return (
    <form className="stack" onSubmit={submit}>
      <label>{t("decisionAppealText")}<textarea required maxLength={2000} rows={4} value={text} onChange={(e) => setText(e.target.value)} /></label>
      {error && <p className="error" role="alert">{error}</p>}
      <div className="buttons end"><button disabled={busy || text.trim() === ""}>{t("appealSend")}</button></div>
    </form>
  );
}
