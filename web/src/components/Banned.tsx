import type { Ban } from "@rialto-im/client";
import { useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { client } from "../client.js";
import { useText } from "../i18n.js";
import { dates } from "../intl.js";
import { getLocale } from "../locale.js";

/** Takes the place of the login for a user who is banned: until when, why, and the one appeal. */
export function Banned({ ban, onBack }: { ban: Ban; onBack: () => void }) {
  const t = useText();
  const { run, busy, error } = useAction();
  const [text, setText] = useState("");
  const [sent, setSent] = useState(false);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    void run(async () => {
      await client.appealBan(ban.appealToken, text.trim());
      setSent(true);
    });
  };
  return (
    <main className="auth">
      <form className="card" onSubmit={submit} aria-label={t("bannedTitle")}>
        <h1>{t("bannedTitle")}</h1>
        <p role="status">{ban.endsMs > 0 ? t("bannedUntil", { when: dates(getLocale(), "dateAndTime").format(ban.endsMs) }) : t("bannedForEver")}</p>
        {ban.explanation && <blockquote><bdi>{ban.explanation}</bdi></blockquote>}
        {sent && <p role="status">{t("appealSent")}</p>}
        {!sent && !ban.appealToken && <p className="muted">{t("appealed")}</p>}
        {!sent && ban.appealToken && (
          <>
            <p className="muted">{t("appealIs")}</p>
            <label>{t("appealText")}<textarea required maxLength={2000} rows={5} value={text} onChange={(e) => setText(e.target.value)} /></label>
            {error && <p className="error" role="alert">{error}</p>}
            <button className="primary" disabled={busy || text.trim() === ""}>{t("appealSend")}</button>
          </>
        )}
        <button type="button" className="link" onClick={onBack}>{t("bannedBack")}</button>
      </form>
    </main>
  );
}
