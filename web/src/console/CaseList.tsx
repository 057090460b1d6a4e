import { useCallback, useState } from "react";
import { ReportedKind, type Case, type CaseState } from "./calls.js";
import { CaseDetails } from "./CaseDetails.js";
import { moment } from "./formats.js";
import { caseTitles, namesIn, userText, type Names } from "./moderationNames.js";
import type { PageProps } from "./pageProps.js";
import { useText, type Key } from "./text.js";
import { useRows } from "./useRows.js";

/** What was reported, and is open or decided. */
export function CaseList(props: PageProps & { state: CaseState }) {
  const { calls, fail, state } = props;
  const t = useText();
  const [shown, setShown] = useState<string>();
  const load = useCallback(
    async (page: string, signal?: AbortSignal) => {
      const { cases, users, next } = await calls.moderation.listCases({ state, page }, signal ? { signal } : {});
      const names = namesIn(users);
      return { rows: cases.map((of) => ({ of, names })), next };
    },
    [calls, state],
  );
  const { rows, error, more, reload } = useRows(load, fail);
  return (
    <>
      {error && <p className="error" role="status">{error}</p>}
      {!rows && !error && <p className="muted">{t("loading")}</p>}
      {rows?.length === 0 && <p className="muted">{t("noCases")}</p>}
      <ul className="rows">{rows?.map((r) => <CaseRow key={r.of.id} {...r} onShow={() => setShown(r.of.id)} />)}</ul>
      {more && <button onClick={more}>{t("moreRows")}</button>}
      {shown !== undefined && (
        <CaseDetails
          {...props}
          id={shown}
          onClose={() => {
            setShown(undefined);
            reload();
          }}
        />
      )}
    </>
  );
}

function CaseRow({ of, names, onShow }: { of: Case; names: Names; onShow: () => void }) {
  const t = useText();
  const d = of.decision;
  return (
    <li>
      <button data-testid="case" onClick={onShow}>
        <strong>{t(caseTitles[of.subject?.kind ?? ReportedKind.UNSPECIFIED], { user: userText(t, names, of.about) })}</strong>
        <span><bdi>{of.excerpt || t("attachment")}</bdi></span>
        <span className="muted">
          {moment(BigInt(of.openedMs))} · {t("reports", { n: of.reportCount })} · {of.reasons.map((r) => t(`reason${r}` as Key)).join(", ")}
          {d && <> · {t("decided", { action: t(`action${d.action}` as Key), who: d.by })}{d.overturned && ` (${t("overturnedMark")})`}{!d.applied && ` (${d.failure ? t("notSentMark", { reason: d.failure }) : t("pendingMark")})`}</>}
        </span>
      </button>
    </li>
  );
}
