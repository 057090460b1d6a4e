import { useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { SendIcon } from "../components/icons.js";
import { useText } from "../i18n.js";

const mostCharacters = 100;

/** Comments on the time of the video at which one sends. Its keys are for the text, and not for the player or the list around it. */
export function TimedCommentForm({ atS, onSend }: { atS: () => number; onSend: (timeMs: number, text: string) => Promise<void> }) {
  const t = useText();
  const { run, busy, error } = useAction();
  const [text, setText] = useState("");
  const line = text.trim();
  const isTooLong = [...line].length > mostCharacters; // as the server counts; an emoji is two for maxLength
  const send = (e: FormEvent) => {
    e.preventDefault();
    if (line === "" || isTooLong || busy) return;
    const at = atS() * 1_000;
    void run(async () => {
      await onSend(at, line);
      setText("");
    });
  };
  return (
    <form className="player-comment-form" onSubmit={send} onKeyDown={(e) => e.stopPropagation()}>
      <input value={text} aria-invalid={isTooLong} placeholder={t("timedCommentHint")} aria-label={t("timedCommentHint")} onChange={(e) => setText(e.target.value)} data-testid="player-comment-input" />
      <button type="submit" className="player-button" aria-label={t("sendTimedComment")} title={t("sendTimedComment")} disabled={busy || line === "" || isTooLong}><SendIcon /></button>
      {(isTooLong || error) && <p role="alert">{isTooLong ? t("timedCommentTooLong", { most: mostCharacters }) : error}</p>}
    </form>
  );
}
