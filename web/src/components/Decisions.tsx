import { Action, AppealState, type DecisionNotice } from "@rialto-im/client";
import { useState } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { moment } from "../format.js";
import { getLocale, useText, type Key } from "../i18n.js";
import type { Listed } from "../pages.js";
import { usePages } from "../usePages.js";
import { AppealForm } from "./AppealForm.js";
import { reasons } from "./ReportDialog.js";

const actions: Partial<Record<Action, Key>> = { [Action.HIDE]: "decisionHidden", [Action.RECALL]: "decisionRecalled", [Action.WARN]: "decisionWarning", [Action.BAN]: "decisionBan", [Action.REFUSE]: "decisionRefused" };
const states: Record<AppealState, Key | undefined> = { [AppealState.UNSPECIFIED]: undefined, [AppealState.OPEN]: "decisionAppealOpen", [AppealState.UPHELD]: "decisionUpheld", [AppealState.OVERTURNED]: "decisionOverturned" };

/** What moderators have decided about the user, the newest first, with the way to appeal. */
export function Decisions() {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const { list, more, reload } = usePages(run, "decisions", 0, async (page): Promise<Listed<DecisionNotice>> => {
    const r = await client.myDecisions(page);
    return { items: r.decisions, next: r.next };
  });
  return (
    <section className="stack" aria-label={t("decisions")}>
      {error && <p className="error" role="alert">{error}</p>}
      {list?.length === 0 && <p className="muted">{t("noDecisions")}</p>}
      <ul className="rows stack">{list?.map((d) => <Row key={d.id} of={d} onAppealed={() => void reload()} />)}</ul>
      {more && <button className="link" onClick={more}>{t("showMore")}</button>}
    </section>
  );
}

function Row({ of, onAppealed }: { of: DecisionNotice; onAppealed: () => void }) {
  const t = useText();
  const [appealing, setAppealing] = useState(false);
  const state = states[of.appeal];
  return (
    <li className="stack" data-testid="decision">
      <div>
        <strong>{t(actions[of.action] ?? "decisionOther")}</strong> <span className="muted">· {t(reasons.find(([r]) => r === of.reason)?.[1] ?? "reportElse")} · {moment(Number(of.timeMs), getLocale())}</span>
        {of.explanation && <p><bdi>{of.explanation}</bdi></p>}
        {of.excerpt && <p className="muted">{t("decisionAbout")} <bdi>{of.excerpt}</bdi></p>}
        {state && <p role="status">{t(state)}</p>}
        {of.appealAnswer && <blockquote><bdi>{of.appealAnswer}</bdi></blockquote>}
      </div>
      {!state && !appealing && <button className="link" onClick={() => setAppealing(true)}>{t("appealSend")}</button>}
      {!state && appealing && <AppealForm decision={of.id} onSent={onAppealed} />}
    </li>
  );
}
