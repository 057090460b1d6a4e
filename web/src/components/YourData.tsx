import { RialtoError, type DataExport, type Erasure } from "@rialto-im/client";
import { useEffect, useState } from "react";
import { useAction } from "../action.js";
import { useClient, useOnline } from "../client.js";
import { bytes, moment } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { Confirm } from "../ui/Confirm.js";
import { ConfirmIdentity } from "./ConfirmIdentity.js";

/** How often a page asks whether an export is complete. */
const pollMs = 3000;
/** The server makes one export of a user in this time. */
const dayMs = 86_400_000;

interface State {
  archive: DataExport;
  erasure: Erasure;
  password: boolean;
  totp: boolean;
}

/** A copy of all that the server has of the user, and the end of the account. */
export function YourData() {
  const client = useClient();
  const t = useText();
  const online = useOnline();
  const [state, setState] = useState<State>();
  const [confirming, setConfirming] = useState(false);
  const { run, busy, error } = useAction();
  const load = async () => {
    const [archive, erasure, { password, totp }] = await Promise.all([client.account.getExport({}), client.account.getErasure({}), client.account.getSecurity({})]);
    setState({ archive, erasure, password, totp });
  };
  useEffect(() => {
    if (online) void run(load);
  }, [client, online]);
  const making = state !== undefined && state.archive.id !== "0" && !state.archive.doneMs;
  const recent = state !== undefined && Date.now() - Number(state.archive.requestedMs) < dayMs;
  useEffect(() => {
    if (!making || !online) return;
    const timer = setInterval(() => void run(load), pollMs);
    return () => clearInterval(timer);
  }, [making, client, online]);
  const change = (action: () => Promise<unknown>) => void run(() => action().then(load));
  const erase = () =>
    void run(() =>
      client.account.requestErasure({}).then(load, (err: unknown) => {
        if (!(err instanceof RialtoError) || err.reason !== "confirm_identity") throw err;
        setConfirming(true);
      }),
    );
  const locale = getLocale();
  return (
    <div className="stack">
      <h3>{t("dataExport")}</h3>
      <p className="muted">{t("dataExportIs")}</p>
      {making && <p role="status">{t("dataExportMaking")}</p>}
      {state?.archive.url && (
        <p data-testid="export-ready">
          <a href={state.archive.url} download>{t("dataExportDownload", { size: bytes(Number(state.archive.size), locale) })}</a> <small className="muted">{t("dataExportUntil", { when: moment(Number(state.archive.availableUntilMs), locale) })}</small>
        </p>
      )}
      <button type="button" data-testid="request-export" disabled={!state || recent || busy || !online} onClick={() => change(() => client.account.requestExport({}))}>{t("dataExportRequest")}</button>
      <h3>{t("eraseAccount")}</h3>
      <p className="muted">{t("eraseAccountIs")}</p>
      {state && !state.erasure.requestedMs && <Confirm label={t("eraseAccount")} question={t("sureEraseAccount")} testId="erase-account" onYes={erase} />}
      {state && Boolean(state.erasure.requestedMs) && (
        <>
          <p role="status" data-testid="erasure-planned">{t("erasePlanned", { when: moment(Number(state.erasure.dueMs), locale) })}</p>
          <button type="button" className="primary" data-testid="cancel-erasure" disabled={busy || !online} onClick={() => change(() => client.account.cancelErasure({}))}>{t("eraseCancel")}</button>
        </>
      )}
      {error && <p className="error" role="alert">{error}</p>}
      {confirming && state && <ConfirmIdentity password={state.password} code={state.totp} onClose={() => setConfirming(false)} onDone={() => { setConfirming(false); erase(); }} />}
    </div>
  );
}
