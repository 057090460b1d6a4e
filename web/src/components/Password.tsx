import { useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";

/** Changing one's password. */
export function Password() {
  const client = useClient();
  const t = useText();
  const [old, setOld] = useState("");
  const [fresh, setFresh] = useState("");
  const [done, setDone] = useState(false);
  const { run, busy, error } = useAction();
  const change = async () => {
    setDone(false);
    await client.account.changePassword({ oldPassword: old, newPassword: fresh }).catch((err: { code?: string; reason?: string }) => {
      throw err.reason === "bad_password" && err.code === "permission_denied" ? new Error(t("errOldPassword")) : err;
    });
    setOld("");
    setFresh("");
    setDone(true);
  };
  const submit = (e: FormEvent) => {
    e.preventDefault();
    void run(change);
  };
  return (
    <form className="stack" onSubmit={submit}>
      <input type="text" hidden readOnly autoComplete="username" value={client.user(client.me)?.handle ?? ""} />
      <label>{t("passwordOld")}<input type="password" autoComplete="current-password" value={old} onChange={(e) => setOld(e.target.value)} /></label>
      <label>{t("password2")}<input type="password" autoComplete="new-password" value={fresh} onChange={(e) => setFresh(e.target.value)} aria-describedby="new-password-hint" /><small id="new-password-hint">{t("passwordHint")}</small></label>
      {error && <p className="error" role="alert">{error}</p>}
      <p className="muted" role="status">{done && t("passwordChanged")}</p>
      <button disabled={!old || !fresh || busy}>{t("changePassword")}</button>
    </form>
  );
}
