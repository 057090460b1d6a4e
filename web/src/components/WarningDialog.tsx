import { ReportReason, type DecisionNotice } from "@rialto-im/client";
import { useWarnings } from "@rialto-im/client/react";
import { useState } from "react";
import { useAction } from "../action.js";
import { useText } from "../i18n.js";
import { Dialog } from "../ui/Dialog.js";
import { AppealForm } from "./AppealForm.js";
import { reasons } from "./ReportDialog.js";

/** Shows the oldest warning of moderators until the user has acknowledged it. Whoever closes it sees it again with the next page. */
export function WarningDialog() {
  const { warnings, acknowledge } = useWarnings();
  const [closed, setClosed] = useState<string>();
  const oldest = warnings.at(-1);
  if (!oldest || oldest.id === closed) return null;
  return <Warning key={oldest.id} of={oldest} onAcknowledge={() => acknowledge(oldest.id)} onClose={() => setClosed(oldest.id)} />;
}

function Warning({ of, onAcknowledge, onClose }: { of: DecisionNotice; onAcknowledge: () => Promise<void>; onClose: () => void }) {
  const t = useText();
  const { run, busy, error } = useAction();
  const [appealing, setAppealing] = useState(false);
  const rule = reasons.find(([r]) => r === of.reason) ?? [ReportReason.OTHER, "reportElse" as const];
  return (
    <Dialog title={t("warningTitle")} onClose={onClose}>
      <div className="stack" data-testid="warning">
        <p>{t("warningIs", { rule: t(rule[1]) })}</p>
        {of.explanation && <blockquote><bdi>{of.explanation}</bdi></blockquote>}
        {of.excerpt && <p className="muted">{t("decisionAbout")} <bdi>{of.excerpt}</bdi></p>}
        {appealing && <AppealForm decision={of.id} />}
        {error && <p className="error" role="alert">{error}</p>}
        <div className="buttons end">
          {!appealing && <button className="link" onClick={() => setAppealing(true)}>{t("appealSend")}</button>}
          <button data-first className="primary" disabled={busy} onClick={() => void run(onAcknowledge)}>{t("acknowledge")}</button>
        </div>
      </div>
    </Dialog>
  );
}
