import { useCallback, useState, type FormEvent } from "react";
import { WordAction, type ListedWord, type WordList } from "./calls.js";
import { moment } from "./formats.js";
import type { PageProps } from "./pageProps.js";
import { useText } from "./text.js";
import { useRows } from "./useRows.js";

/** The words of an action as one edits them: one on each line, a whole word after =. */
export function linesOf(words: readonly ListedWord[], action: WordAction): string {
  return words.filter((w) => w.action === action).map((w) => (w.whole ? "=" : "") + w.text).join("\n");
}

/** The words of lines, without empty ones. */
export function wordsOf(lines: string, action: WordAction): { text: string; action: WordAction; whole: boolean }[] {
  return lines.split("\n").map((l) => l.trim()).filter((l) => l !== "" && l !== "=")
    .map((l) => ({ text: l.replace(/^=/, "").trim(), action, whole: l.startsWith("=") }));
}

/** The lists of words that are refused or queued. Operators change them. */
export function WordLists({ calls, fail, mayChange }: PageProps) {
  const t = useText();
  const [edited, setEdited] = useState<WordList>();
  const [failed, setFailed] = useState("");
  const load = useCallback(async (_: string, signal?: AbortSignal) => ({ rows: (await calls.moderation.listWordLists({}, signal ? { signal } : {})).lists, next: "" }), [calls]);
  const { rows, error, reload } = useRows(load, fail);
  const edit = async (name: string) => {
    try {
      setEdited(await calls.moderation.getWordList({ name }));
      setFailed("");
    } catch (err) {
      setFailed(fail(err));
    }
  };
  const save = async (e: FormEvent<HTMLFormElement>) => {
    e.preventDefault();
    const data = new FormData(e.currentTarget);
    const words = [WordAction.REFUSE, WordAction.QUEUE].flatMap((a) => wordsOf(String(data.get(`words${a}`)), a));
    try {
      await calls.moderation.putWordList({ name: String(data.get("name")).trim(), version: edited?.version ?? 0, words, note: String(data.get("note")).trim() });
      setEdited(undefined);
      setFailed("");
      reload();
    } catch (err) {
      setFailed(fail(err));
    }
  };
  return (
    <>
      {(error || failed) && <p className="error" role="status">{error || failed}</p>}
      {rows?.length === 0 && <p className="muted">{t("noWordLists")}</p>}
      <ul className="rows">
        {rows?.map((l) => (
          <li key={l.name}>
            <button data-testid="word-list" onClick={() => void edit(l.name)}>
              <strong><bdi>{l.name}</bdi></strong>
              <span className="muted">{t("words", { n: l.count })} · {moment(l.changedMs)} · <bdi>{l.changedBy}</bdi></span>
            </button>
          </li>
        ))}
      </ul>
      {(mayChange || edited) && (
        <form key={edited ? `${edited.name} ${edited.version}` : "new"} className="card stack" aria-label={t("wordList")} onSubmit={(e) => void save(e)}>
          <h2>{edited ? edited.name : t("newWordList")}</h2>
          <p className="muted">{t("wordLines")}</p>
          <label>{t("listName")}<input name="name" required maxLength={64} readOnly={edited !== undefined} defaultValue={edited?.name ?? ""} autoComplete="off" /></label>
          <label>{t("refusedWords")}<textarea name={`words${WordAction.REFUSE}`} rows={6} readOnly={!mayChange} defaultValue={linesOf(edited?.words ?? [], WordAction.REFUSE)} /></label>
          <label>{t("queuedWords")}<textarea name={`words${WordAction.QUEUE}`} rows={6} readOnly={!mayChange} defaultValue={linesOf(edited?.words ?? [], WordAction.QUEUE)} /></label>
          <label>{t("note")}<input name="note" maxLength={500} autoComplete="off" /></label>
          <div className="buttons end">
            {edited && <button type="button" onClick={() => setEdited(undefined)}>{t("close")}</button>}
            {mayChange && <button className="primary small">{t("save")}</button>}
          </div>
        </form>
      )}
    </>
  );
}
