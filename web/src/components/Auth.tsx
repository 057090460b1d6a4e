import { ContactKind, RialtoError, SecondFactorNeeded, type Ban, type LoginMethods } from "@rialto-im/client";
import { useEffect, useRef, useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { appearance, client } from "../client.js";
import { getLocale, useText, type Key } from "../i18n.js";
import { Banned } from "./Banned.js";
import { usePasskeyLogin } from "./usePasskeyLogin.js";
import "./auth.css";

/** What a person is told of why they were signed out; of the rest, only that they were. */
function why(reason: string): Key | undefined {
  if (reason === "replaced") return "endedReplaced";
  return reason === "revoked" ? "endedRevoked" : undefined;
}

/** With a password, by registering, or with a code: first it is asked for, then entered. The second factor may follow. Who forgot the password
 * asks for a code, and sets a new one with it. */
type Way = "password" | "register" | "ask" | "code" | "second" | "forgot" | "reset";

const buttons: Record<Way, Key> = { password: "signIn", register: "signUp", ask: "sendCode", code: "signIn", second: "signIn", forgot: "resetAsk", reset: "resetGo" };

/** Which codes the server sends. Until it has answered, none is offered. */
function useMethods(): LoginMethods {
  const [methods, setMethods] = useState<LoginMethods>({ code: false, resets: [], passkeys: false });
  useEffect(() => {
    let shown = true;
    client.loginMethods().then((m) => shown && setMethods(m), () => {}); // unreachable: signing in will say so
    return () => {
      shown = false;
    };
  }, []);
  return methods;
}

interface Entered {
  who: string;
  secret: string;
  name: string;
  code: string;
  kind: ContactKind | undefined;
  challenge: string;
}

/** Does what was entered for a way. It returns the way that follows, if that is not the app. */
async function takeStep(way: Way, { who, secret, name, code, kind, challenge }: Entered): Promise<Way | void> {
  switch (way) {
    case "register":
      return client.register(who, secret, name || who);
    case "password":
      return client.logIn(who, secret);
    case "code":
      return client.logInWithCode(who, secret.trim());
    case "ask":
      await client.requestCode(who);
      return "code";
    case "forgot":
      await client.requestPasswordReset(who, kind ?? ContactKind.EMAIL);
      return "reset";
    case "reset":
      await client.resetPassword(who, code, secret);
      return client.logIn(who, secret);
    case "second":
      return client.logInWithSecondFactor(who, challenge, secret.trim());
  }
}

export function Auth({ notice }: { notice?: string | undefined }) {
  const t = useText();
  const [way, setWay] = useState<Way>("password");
  const [handle, setHandle] = useState("");
  const [secret, setSecret] = useState("");
  const [name, setName] = useState("");
  const [code, setCode] = useState(""); // beside a new password
  const [kind, setKind] = useState<ContactKind>();
  const [challenge, setChallenge] = useState("");
  const [ban, setBan] = useState<Ban>();
  const { run, busy, error, setError } = useAction();
  const methods = useMethods();
  const form = useRef<HTMLFormElement>(null);
  const fresh = way === "register";
  const passkey = usePasskeyLogin(methods.passkeys && way === "password", run);

  const go = (next: Way) => {
    setWay(next);
    setError("");
    setSecret("");
  };
  const enter = async (): Promise<void> => {
    const next = await takeStep(way, { who: handle.trim().toLowerCase(), secret, name: name.trim(), code: code.trim(), kind: kind ?? methods.resets[0], challenge });
    if (next) go(next);
  };
  /** The field to change is the one that the refusal names. */
  const refused = (err: { reason?: string }) => {
    if (err instanceof RialtoError && err.reason === "account_banned" && err.ban) return setBan(err.ban);
    if (err instanceof SecondFactorNeeded) {
      setChallenge(err.challenge);
      return go("second");
    }
    if (err.reason === "bad_challenge") go("password");
    const wrong = /password|code/.exec(err.reason === "bad_second_factor" ? "code" : (err.reason ?? ""))?.[0] ?? "handle";
    form.current?.querySelector<HTMLInputElement>(`input[name=${wrong}]`)?.focus();
    throw err;
  };
  const submit = (e: FormEvent) => {
    e.preventDefault();
    void run(() => enter().catch(refused));
  };

  if (ban) return <Banned ban={ban} onBack={() => setBan(undefined)} />;
  return (
    <main className="auth">
      <form className="card" ref={form} onSubmit={submit} aria-label={t(fresh ? "signUp" : "signIn")}>
        <img src="/icon.svg" alt="" width="48" height="48" />
        <h1>Rialto</h1>
        <p className="muted">{t("appTagline")}</p>
        {notice && <p className="notice" role="status">{t("endedTitle")}{why(notice) && `: ${t(why(notice)!)}`}</p>}
        {way !== "second" && <Handle handle={handle} fresh={fresh} onChange={setHandle} />}
        {fresh && <label>{t("displayName")}<input name="name" autoComplete="name" maxLength={64} value={name} onChange={(e) => setName(e.target.value)} /></label>}
        {way === "code" && <Code code={secret} hint="codeHint" onChange={setSecret} />}
        {way === "second" && <SecondFactor code={secret} onChange={setSecret} />}
        {way === "forgot" && methods.resets.length > 1 && <ResetBy kinds={methods.resets} kind={kind ?? methods.resets[0]!} onChange={setKind} />}
        {way === "reset" && <Code code={code} hint="resetHint" onChange={setCode} />}
        {(fresh || way === "password" || way === "reset") && <Secret password={secret} fresh={fresh || way === "reset"} onChange={setSecret} />}
        {error && <p className="error" role="alert">{error}</p>}
        <button className="primary" disabled={busy}>{t(buttons[way])}</button>
        {passkey && <button type="button" disabled={busy} onClick={passkey}>{t("passkeySignIn")}</button>}
        <Ways way={way} methods={methods} go={go} />
        <OtherLanguage />
      </form>
    </main>
  );
}

/** The other ways to go on from here. */
function Ways({ way, methods, go }: { way: Way; methods: LoginMethods; go: (next: Way) => void }) {
  const t = useText();
  const link = (label: Key, next: Way) => <button type="button" className="link" onClick={() => go(next)}>{t(label)}</button>;
  const fresh = way === "register";
  return (
    <>
      {way === "code" && link("codeAgain", "ask")}
      {methods.code && way === "password" && link("codeInstead", "ask")}
      {methods.resets.length > 0 && way === "password" && link("forgot", "forgot")}
      {!fresh && way !== "password" && link("passwordInstead", "password")}
      {link(fresh ? "signInInstead" : "signUpInstead", fresh ? "password" : "register")}
    </>
  );
}

function Handle({ handle, fresh, onChange }: { handle: string; fresh: boolean; onChange: (handle: string) => void }) {
  const t = useText();
  return (
    <label>
      {t("handle")}
      <input name="handle" autoComplete={fresh ? "username" : "username webauthn"} autoCapitalize="none" spellCheck={false} required autoFocus value={handle} onChange={(e) => onChange(e.target.value)} aria-describedby={fresh ? "handle-hint" : undefined} />
      {fresh && <small id="handle-hint">{t("handleHint")}</small>}
    </label>
  );
}

function Code({ code, hint, onChange }: { code: string; hint: Key; onChange: (code: string) => void }) {
  const t = useText();
  return (
    <label>
      {t("code")}
      <input name="code" autoComplete="one-time-code" autoCapitalize="characters" spellCheck={false} required autoFocus value={code} onChange={(e) => onChange(e.target.value)} aria-describedby="code-hint" />
      <small id="code-hint" role="status">{t(hint)}</small>
    </label>
  );
}

function ResetBy({ kinds, kind, onChange }: { kinds: ContactKind[]; kind: ContactKind; onChange: (kind: ContactKind) => void }) {
  const t = useText();
  return (
    <label>
      {t("resetBy")}
      <select value={kind} onChange={(e) => onChange(Number(e.target.value))}>
        {kinds.map((k) => <option key={k} value={k}>{t(k === ContactKind.PHONE ? "resetByPhone" : "resetByEmail")}</option>)}
      </select>
    </label>
  );
}

function SecondFactor({ code, onChange }: { code: string; onChange: (code: string) => void }) {
  const t = useText();
  return (
    <label>
      {t("secondFactor")}
      <input name="code" autoComplete="one-time-code" autoCapitalize="none" spellCheck={false} required autoFocus value={code} onChange={(e) => onChange(e.target.value)} aria-describedby="second-hint" />
      <small id="second-hint">{t("secondFactorHint")}</small>
    </label>
  );
}

function Secret({ password, fresh, onChange }: { password: string; fresh: boolean; onChange: (password: string) => void }) {
  const t = useText();
  const [plain, setPlain] = useState(false);
  return (
    <>
      <label>
        {t("password")}
        <input name="password" type={plain ? "text" : "password"} spellCheck={false} autoCapitalize="none" autoComplete={fresh ? "new-password" : "current-password"} required value={password} onChange={(e) => onChange(e.target.value)} aria-describedby={fresh ? "password-hint" : undefined} />
        {fresh && <small id="password-hint">{t("passwordHint")}</small>}
      </label>
      <label className="check"><input type="checkbox" checked={plain} onChange={(e) => setPlain(e.target.checked)} />{t("showPassword")}</label>
    </>
  );
}

/** Changes to the other language that the app has. */
function OtherLanguage() {
  const other = getLocale() === "en" ? ({ locale: "zh", tag: "zh-CN", name: "中文" } as const) : ({ locale: "en", tag: "en", name: "English" } as const);
  return <button type="button" className="link" lang={other.tag} onClick={() => appearance.choose({ locale: other.locale })}>{other.name}</button>;
}
