import { useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { Dialog } from "../ui/Dialog.js";

/** Asks who signed in a while ago for the password, and for a code if signing in needs one. */
export function ConfirmIdentity({ password, code, onDone, onClose }: { password: boolean; code: boolean; onDone: () => void; onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const [secret, setSecret] = useState("");
  const [factor, setFactor] = useState("");
  const { run, busy, error } = useAction();
  const confirm = async () => {
    await client.account.confirmIdentity({ password: secret, code: factor.trim() }).catch((err: { reason?: string }) => {
      throw err.reason === "bad_password" ? new Error(t("errOldPassword")) : err;
    });
    onDone();
  };
  const submit = (e: FormEvent) => {
    e.preventDefault();
    void run(confirm);
  };
  return (
    <Dialog title={t("confirmIdentity")} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p className="muted">{t("confirmIdentityWhy")}</p>
        <input type="text" hidden readOnly autoComplete="username" value={client.user(client.me)?.handle ?? ""} />
        {password && <label>{t("password")}<input type="password" name="password" data-first autoComplete="current-password" required value={secret} onChange={(e) => setSecret(e.target.value)} /></label>}
        {code && <label>{t("secondFactor")}<input name="code" autoComplete="one-time-code" autoCapitalize="none" spellCheck={false} required value={factor} onChange={(e) => setFactor(e.target.value)} /></label>}
        {error && <p className="error" role="alert">{error}</p>}
        <div className="buttons end"><button className="primary" disabled={busy}>{t("confirmIdentityGo")}</button></div>
      </form>
    </Dialog>
  );
}
