import { useCallback, useState, type FormEvent } from "react";
import type { Appeal } from "./calls.js";
import { moment } from "./formats.js";
import { namesIn, userText, type Names } from "./moderationNames.js";
import type { PageProps } from "./pageProps.js";
import { useText, type Key } from "./text.js";
import { useRows } from "./useRows.js";

/** Appeals that wait for a moderator. */
export function AppealList({ calls, fail }: PageProps) {
  const t = useText();
  const [failed, setFailed] = useState("");
  const load = useCallback(
    async (page: string, signal?: AbortSignal) => {
      const { appeals, users, next } = await calls.moderation.listAppeals({ page }, signal ? { signal } : {});
      const names = namesIn(users);
      return { rows: appeals.map((of) => ({ of, names })), next };
    },
    [calls],
  );
  const { rows, error, more, reload } = useRows(load, fail);
  const decide = async (appeal: string, overturn: boolean, answer: string) => {
    try {
      await calls.moderation.decideAppeal({ appeal, overturn, answer });
      setFailed("");
      reload();
    } catch (err) {
      setFailed(fail(err));
    }
  };
  return (
    <>
      {(error || failed) && <p className="error" role="status">{error || failed}</p>}
      {rows?.length === 0 && <p className="muted">{t("noAppeals")}</p>}
      <ul className="rows">{rows?.map((r) => <AppealRow key={r.of.id} {...r} onDecide={(overturn, answer) => void decide(r.of.id, overturn, answer)} />)}</ul>
      {more && <button onClick={more}>{t("moreRows")}</button>}
    </>
  );
}

function AppealRow({ of, names, onDecide }: { of: Appeal; names: Names; onDecide: (overturn: boolean, answer: string) => void }) {
  const t = useText();
  const d = of.decision;
  const submit = (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const by = (e.nativeEvent as SubmitEvent).submitter as HTMLButtonElement;
    onDecide(by.value === "overturn", (e.currentTarget.elements.namedItem("answer") as HTMLInputElement).value.trim());
  };
  return (
    <li data-testid="appeal">
      <strong>{t("appealOf", { user: userText(t, names, of.user) })}</strong> <span className="muted">{moment(BigInt(of.timeMs))}</span>
      <p><bdi>{of.text}</bdi></p>
      {d && (
        <p className="muted">
          {t("decided", { action: t(`action${d.action}` as Key), who: d.by })} · {t(`reason${d.reason}` as Key)} {of.excerpt && <>· <bdi>{of.excerpt}</bdi></>}
        </p>
      )}
      <form className="stack" onSubmit={submit}>
        <label>{t("answer")}<input name="answer" maxLength={500} autoComplete="off" /></label>
        <div className="buttons end">
          <button value="uphold">{t("uphold")}</button>
          <button className="primary small" value="overturn">{t("overturn")}</button>
        </div>
      </form>
    </li>
  );
}
