import { useText } from "../i18n.js";

/** Why nothing plays, and what tries again. */
export function Failed({ text, onRetry }: { text: string; onRetry: () => void }) {
  const t = useText();
  return (
    <div className="player-failed" role="alert">
      <p>{text}</p>
      <button type="button" onClick={onRetry}>{t("retry")}</button>
    </div>
  );
}
