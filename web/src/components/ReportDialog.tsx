import { ReportReason, ReportedKind } from "@rialto-im/client";
import { useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText, type Key } from "../i18n.js";
import { Dialog } from "../ui/Dialog.js";

/** What is reported: a message by its conversation and seq, or anything else by its id. */
export interface Reported {
  kind: ReportedKind;
  id: string;
  seq?: number;
}

/** The reasons in the order in which they are offered. */
export const reasons: [ReportReason, Key][] = [
  [ReportReason.SPAM, "reportSpam"],
  [ReportReason.HARASSMENT, "reportHarassment"],
  [ReportReason.HATE, "reportHate"],
  [ReportReason.VIOLENCE, "reportViolence"],
  [ReportReason.SEXUAL, "reportSexual"],
  [ReportReason.CHILD_SAFETY, "reportChildSafety"],
  [ReportReason.SELF_HARM, "reportSelfHarm"],
  [ReportReason.FRAUD, "reportFraud"],
  [ReportReason.ILLEGAL, "reportIllegal"],
  [ReportReason.IMPERSONATION, "reportImpersonation"],
  [ReportReason.OTHER, "reportElse"],
];

/** Reports something to the moderators. */
export function ReportDialog({ of, onClose }: { of: Reported; onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, busy, error } = useAction();
  const [reason, setReason] = useState<ReportReason>();
  const [note, setNote] = useState("");
  const [sent, setSent] = useState(false);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (reason === undefined) return;
    void run(async () => {
      await client.moderationApi.reportContent({ subject: { kind: of.kind, id: of.id, seq: BigInt(of.seq ?? 0) }, reason, note: note.trim() });
      setSent(true);
    });
  };
  if (sent) return <Dialog title={t("reportTitle")} onClose={onClose}><p role="status">{t("reportThanks")}</p></Dialog>;
  return (
    <Dialog title={t("reportTitle")} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p className="muted">{t("reportIs")}</p>
        <label>
          {t("reportReason")}
          <select data-first required value={reason ?? ""} onChange={(e) => setReason(Number(e.target.value))}>
            <option value="" disabled />
            {reasons.map(([r, key]) => <option key={r} value={r}>{t(key)}</option>)}
          </select>
        </label>
        <label>
          {t("reportNote")}
          <textarea maxLength={1000} rows={3} value={note} onChange={(e) => setNote(e.target.value)} />
        </label>
        {error && <p className="error" role="alert">{error}</p>}
        <button className="primary" disabled={busy || reason === undefined}>{t("report")}</button>
      </form>
    </Dialog>
  );
}
