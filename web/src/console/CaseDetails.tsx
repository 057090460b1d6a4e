import { useEffect, useRef, useState, type FormEvent } from "react";
import { Action, CaseState, ReportedKind, type Case, type HeldContent } from "./calls.js";
import { moment } from "./formats.js";
import { actionsOf, allReasons, caseTitles, endOf, hasLength, lengths, namesIn, userText } from "./moderationNames.js";
import type { PageProps } from "./pageProps.js";
import { useText, type Key } from "./text.js";

/** A case with what was reported and by whom, and the form that decides it. */
export function CaseDetails({ calls, fail, id, onClose }: PageProps & { id: string; onClose: () => void }) {
  const t = useText();
  const dialog = useRef<HTMLDialogElement>(null);
  const [of, setOf] = useState<Case>();
  const [error, setError] = useState("");
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    const ended = new AbortController();
    calls.moderation.getCase({ case: id }, { signal: ended.signal }).then(setOf, (err: unknown) => !ended.signal.aborted && setError(fail(err)));
    return () => ended.abort();
  }, [calls, fail, id]);
  const decide = async (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const data = new FormData(e.currentTarget);
    const action = Number(data.get("action")) as Action;
    try {
      await calls.moderation.decide({
        case: id,
        action,
        reason: action === Action.DISMISS ? 0 : Number(data.get("reason")),
        explanation: String(data.get("explanation") ?? "").trim(),
        note: String(data.get("note") ?? "").trim(),
        banEndsMs: hasLength(action) ? endOf(Number(data.get("length"))) : 0n,
      });
      onClose();
    } catch (err) {
      setError(fail(err));
    }
  };
  const kind = of?.subject?.kind ?? ReportedKind.UNSPECIFIED;
  const title = of ? t(caseTitles[kind], { user: userText(t, namesIn(of.users), of.about) }) : t("loading");
  return (
    <dialog ref={dialog} className="wide" aria-label={title} onClose={(e) => e.target === dialog.current && onClose()}>
      <div className="stack">
        <h2>{title}</h2>
        {of && <Content of={of} />}
        {of && <Reports of={of} />}
        {of?.state === CaseState.OPEN && <DecisionForm kind={kind} onSubmit={(e) => void decide(e)} />}
        {error && <p className="error" role="alert">{error}</p>}
        <div className="buttons end"><button onClick={onClose}>{t("close")}</button></div>
      </div>
    </dialog>
  );
}

/** The text of what waits for a moderator, "" if it has none. */
function heldText(held: HeldContent | undefined): string | undefined {
  if (!held) return undefined;
  switch (held.of.case) {
    case undefined:
      return "";
    case "message":
      return held.of.value.content?.kind.case === "text" ? held.of.value.content.kind.value : "";
    default:
      return held.of.value.content?.text ?? "";
  }
}

function Content({ of }: { of: Case }) {
  const t = useText();
  const c = of.content;
  const names = namesIn(of.users);
  const messages = c?.messages ?? [];
  const text = c?.post?.content?.text ?? c?.comment?.content?.text ?? heldText(c?.held) ?? (c?.user && `${c.user.displayName} (@${c.user.handle}) ${c.user.bio}`) ?? c?.group?.title;
  if (!c || (messages.length === 0 && !text)) return <p className="muted">{t("contentGone")}</p>;
  return (
    <ol className="context" data-testid="content">
      {messages.map((m, i) => (
        <li key={String(m.seq)} className={i === messages.length - 1 ? "reported" : "muted"}>
          <small>{userText(t, names, m.sender)} · {moment(BigInt(m.timeMs))}</small> <bdi>{(m.content?.kind.case === "text" && m.content.kind.value) || t("attachment")}</bdi>
        </li>
      ))}
      {text && <li className="reported"><bdi>{text}</bdi></li>}
    </ol>
  );
}

function Reports({ of }: { of: Case }) {
  const t = useText();
  const names = namesIn(of.users);
  const reportedBy = (user: string) => (user === "0" ? t("reportedByRules") : t("reportedBy", { user: userText(t, names, user) }));
  return (
    <ul>
      {of.reports.map((r) => (
        <li key={r.id}>
          {t(`reason${r.reason}` as Key)} · <span className="muted">{reportedBy(r.reporter)} · {moment(BigInt(r.timeMs))}</span>
          {r.note && <p><bdi>{r.note}</bdi></p>}
        </li>
      ))}
    </ul>
  );
}

function DecisionForm({ kind, onSubmit }: { kind: ReportedKind; onSubmit: (e: FormEvent<HTMLFormElement>) => void }) {
  const t = useText();
  const [action, setAction] = useState(Action.DISMISS);
  return (
    <form className="stack" onSubmit={onSubmit}>
      <label>
        {t("decision")}
        <select name="action" value={action} onChange={(e) => setAction(Number(e.target.value))}>
          {actionsOf(kind).map((a) => <option key={a} value={a}>{t(`action${a}` as Key)}</option>)}
        </select>
      </label>
      {action !== Action.DISMISS && (
        <>
          <label>
            {t("rule")}
            <select name="reason">{allReasons.map((r) => <option key={r} value={r}>{t(`reason${r}` as Key)}</option>)}</select>
          </label>
          <label>{t("explanation")}<textarea name="explanation" maxLength={500} rows={2} /></label>
        </>
      )}
      {hasLength(action) && (
        <label>
          {t("banFor")}
          <select name="length">{lengths.map(([key, ms]) => <option key={key} value={ms}>{t(key)}</option>)}</select>
        </label>
      )}
      <label>{t("note")}<input name="note" maxLength={500} autoComplete="off" /></label>
      <div className="buttons end"><button className={action === Action.BAN ? "primary danger-fill" : "primary small"}>{t("decide")}</button></div>
    </form>
  );
}
