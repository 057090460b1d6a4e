import { RialtoError, type ContactKind, type Passkey } from "@rialto-im/client";
import { Suspense, lazy, useEffect, useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { useClient, useOnline } from "../client.js";
import { useText } from "../i18n.js";
import { Confirm } from "../ui/Confirm.js";
import { Dialog } from "../ui/Dialog.js";
import { ConfirmIdentity } from "./ConfirmIdentity.js";
import { Contacts } from "./Contacts.js";
import { Passkeys } from "./Passkeys.js";
import "./security.css";

const QrCode = lazy(() => import("./QrCode.js"));

interface State {
  password: boolean;
  totp: boolean;
  recoveryCodes: number;
  contacts: { kind: ContactKind; address: string }[];
  contactKinds: ContactKind[];
  passkeys: Passkey[];
}

/** The second factor of signing in, passkeys, and where the user can be reached. */
export function Security() {
  const client = useClient();
  const t = useText();
  const online = useOnline();
  const [state, setState] = useState<State>();
  const [setup, setSetup] = useState<{ secret: string; uri: string }>();
  const [codes, setCodes] = useState<string[]>();
  const [waiting, setWaiting] = useState<() => Promise<unknown>>(); // for the confirmation of who this is
  const { run, busy, error } = useAction();
  const load = async () => {
    const [security, { passkeys }] = await Promise.all([client.account.getSecurity({}), client.account.listPasskeys({})]);
    setState({ ...security, passkeys });
  };
  useEffect(() => {
    if (online) void run(load);
  }, [client, online]);
  /** Does what may need a confirmation first. */
  const change = (action: () => Promise<unknown>) =>
    void run(() =>
      action().then(load, (err: unknown) => {
        if (!(err instanceof RialtoError) || !["confirm_identity", "passkey_canceled"].includes(err.reason)) throw err;
        if (err.reason === "confirm_identity") setWaiting(() => action);
      }),
    );
  const start = async () => setSetup(await client.account.startTotp({}));
  const finish = async (code: string) => {
    setCodes((await client.account.confirmTotp({ code })).codes);
    setSetup(undefined);
  };
  const renew = async () => setCodes((await client.account.createRecoveryCodes({})).codes);
  return (
    <div className="stack">
      {state && !state.totp && !setup && <><p className="muted">{t("appIs")}</p><button type="button" disabled={busy || !online} onClick={() => change(start)}>{t("appSetUp")}</button></>}
      {state && !state.totp && setup && <Setup {...setup} busy={busy} onCode={(code) => change(() => finish(code))} />}
      {error && <p className="error" role="alert">{error}</p>}
      {state?.totp && (
        <>
          <p role="status">{t("appOn")}</p>
          <p className="muted" data-testid="recovery-left">{t("recoveryLeft", { n: state.recoveryCodes })}</p>
          <div className="buttons">
            <Confirm label={t("recoveryNew")} question={t("sureRecoveryNew")} onYes={() => change(renew)} />
            <Confirm label={t("appRemove")} question={t("sureAppRemove")} onYes={() => change(() => client.account.removeTotp({}))} />
          </div>
        </>
      )}
      {state && <Passkeys passkeys={state.passkeys} busy={busy || !online} change={change} />}
      {state && state.contactKinds.length > 0 && <Contacts kinds={state.contactKinds} contacts={state.contacts} busy={busy || !online} change={change} />}
      {codes && <RecoveryCodes codes={codes} onClose={() => setCodes(undefined)} />}
      {waiting && state && <ConfirmIdentity password={state.password} code={state.totp} onClose={() => setWaiting(undefined)} onDone={() => { setWaiting(undefined); change(waiting); }} />}
    </div>
  );
}

function Setup({ secret, uri, busy, onCode }: { secret: string; uri: string; busy: boolean; onCode: (code: string) => void }) {
  const t = useText();
  const [code, setCode] = useState("");
  const submit = (e: FormEvent) => {
    e.preventDefault();
    onCode(code.trim());
  };
  return (
    <form className="stack" onSubmit={submit}>
      <p>{t("appScan")}</p>
      <Suspense fallback={<div className="qr" />}><QrCode text={uri} label={t("appQr")} /></Suspense>
      <p>{t("appKey")}: <code data-testid="totp-secret">{secret.replace(/(.{4})(?=.)/g, "$1 ")}</code></p>
      <label>{t("secondFactor")}<input name="code" inputMode="numeric" autoComplete="one-time-code" required value={code} onChange={(e) => setCode(e.target.value)} /></label>
      <button className="primary" disabled={busy}>{t("appConfirm")}</button>
    </form>
  );
}

function RecoveryCodes({ codes, onClose }: { codes: string[]; onClose: () => void }) {
  const t = useText();
  const [copied, setCopied] = useState(false);
  const { run, error } = useAction();
  return (
    <Dialog title={t("recoveryCodes")} onClose={onClose}>
      <p>{t("recoveryKeep")}</p>
      <ul className="recovery-codes" data-testid="recovery-codes">{codes.map((c) => <li key={c}><code>{c}</code></li>)}</ul>
      {error && <p className="error" role="alert">{error}</p>}
      <div className="buttons end">
        <button type="button" onClick={() => void run(() => navigator.clipboard.writeText(codes.join("\n")).then(() => setCopied(true)))}>{t(copied ? "copied" : "recoveryCopy")}</button>
        <button type="button" className="primary" onClick={onClose}>{t("recoveryKept")}</button>
      </div>
    </Dialog>
  );
}
