import { useRef, useState, type FormEvent } from "react";
import { client } from "../client.js";
import { errorText } from "../errors.js";
import { getLocale, setLocale, useText, type Key } from "../i18n.js";

/** What a person is told of why they were signed out; of the rest, only that they were. */
function why(reason: string): Key | undefined {
  if (reason === "replaced") return "endedReplaced";
  return reason === "revoked" ? "endedRevoked" : undefined;
}

export function Auth({ notice }: { notice?: string | undefined }) {
  const t = useText();
  const [fresh, setFresh] = useState(false);
  const [handle, setHandle] = useState("");
  const [password, setPassword] = useState("");
  const [name, setName] = useState("");
  const [error, setError] = useState("");
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  const [plain, setPlain] = useState(false);

  const submit = async (e: FormEvent) => {
    e.preventDefault();
    setBusy(true);
    setError("");
    try {
      if (fresh) await client.register(handle.trim().toLowerCase(), password, name.trim() || handle.trim());
      else await client.logIn(handle.trim().toLowerCase(), password);
    } catch (err) {
      setError(errorText(err));
      setBusy(false);
      const wrong = /password/.test((err as { reason?: string }).reason ?? "") ? "password" : "handle";
      form.current?.querySelector<HTMLInputElement>(`input[name=${wrong}]`)?.focus();
    }
  };

  return (
    <main className="auth">
      <form className="card" ref={form} onSubmit={submit} aria-label={t(fresh ? "signUp" : "signIn")}>
        <img src="/icon.svg" alt="" width="48" height="48" />
        <h1>Rialto</h1>
        <p className="muted">{t("appTagline")}</p>
        {notice && <p className="notice" role="status">{t("endedTitle")}{why(notice) && `: ${t(why(notice)!)}`}</p>}
        <label>
          {t("handle")}
          <input name="handle" autoComplete="username" autoCapitalize="none" spellCheck={false} required autoFocus value={handle} onChange={(e) => setHandle(e.target.value)} aria-describedby={fresh ? "handle-hint" : undefined} />
          {fresh && <small id="handle-hint">{t("handleHint")}</small>}
        </label>
        {fresh && (
          <label>
            {t("displayName")}
            <input name="name" autoComplete="name" maxLength={64} value={name} onChange={(e) => setName(e.target.value)} />
          </label>
        )}
        <label>
          {t("password")}
          <input name="password" type={plain ? "text" : "password"} spellCheck={false} autoCapitalize="none" autoComplete={fresh ? "new-password" : "current-password"} required value={password} onChange={(e) => setPassword(e.target.value)} aria-describedby={fresh ? "password-hint" : undefined} />
          {fresh && <small id="password-hint">{t("passwordHint")}</small>}
        </label>
        <label className="check"><input type="checkbox" checked={plain} onChange={(e) => setPlain(e.target.checked)} />{t("showPassword")}</label>
        {error && <p className="error" role="alert">{error}</p>}
        <button className="primary" disabled={busy}>{t(fresh ? "signUp" : "signIn")}</button>
        <button type="button" className="link" onClick={() => { setFresh(!fresh); setError(""); }}>{t(fresh ? "signInInstead" : "signUpInstead")}</button>
        <button type="button" className="link" lang={getLocale() === "en" ? "zh-CN" : "en"} onClick={() => setLocale(getLocale() === "en" ? "zh" : "en")}>{getLocale() === "en" ? "中文" : "English"}</button>
      </form>
    </main>
  );
}
