import { useState, type FormEvent } from "react";
import { useClient } from "../client.js";
import { errorText } from "../errors.js";
import { useText } from "../i18n.js";

/** Changing one's password. */
export function Password() {
  const client = useClient();
  const t = useText();
  const [old, setOld] = useState("");
  const [fresh, setFresh] = useState("");
  const [error, setError] = useState("");
  const [done, setDone] = useState(false);
  const change = async (e: FormEvent) => {
    e.preventDefault();
    setError("");
    setDone(false);
    try {
      await client.account.changePassword({ oldPassword: old, newPassword: fresh });
      setOld("");
      setFresh("");
      setDone(true);
    } catch (err) {
      const { code, reason } = err as { code?: string; reason?: string };
      setError(reason === "bad_password" && code === "permission_denied" ? t("errOldPassword") : errorText(err));
    }
  };
  return (
    <form className="stack" onSubmit={change}>
      <h2>{t("changePassword")}</h2>
      <input type="text" hidden readOnly autoComplete="username" value={client.user(client.me)?.handle ?? ""} />
      <label>{t("passwordOld")}<input type="password" autoComplete="current-password" value={old} onChange={(e) => setOld(e.target.value)} /></label>
      <label>{t("password2")}<input type="password" autoComplete="new-password" value={fresh} onChange={(e) => setFresh(e.target.value)} aria-describedby="new-password-hint" /><small id="new-password-hint">{t("passwordHint")}</small></label>
      {error && <p className="error" role="alert">{error}</p>}
      <p className="muted" role="status">{done && t("passwordChanged")}</p>
      <button disabled={!old || !fresh}>{t("changePassword")}</button>
    </form>
  );
}
