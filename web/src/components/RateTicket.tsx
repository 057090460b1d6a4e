import type { Ticket } from "@rialto-im/client";
import { useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { Dialog } from "../ui/Dialog.js";

const stars = [1, 2, 3, 4, 5];

/** A customer's rating of a resolved ticket: 1 to 5 stars, with a comment. */
export function RateTicket({ ticket, onClose }: { ticket: Ticket; onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, busy, error } = useAction();
  const [rating, setRating] = useState(ticket.rating);
  const [comment, setComment] = useState(ticket.comment);
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (!busy) void run(() => client.helpDesks.rate(ticket.id, rating, comment.trim()).then(onClose));
  };
  return (
    <Dialog title={t("rateQuestion")} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <fieldset className="stars">
          <legend className="sr-only">{t("statsRating")}</legend>
          {stars.map((n) => (
            <label key={n} className={n <= rating ? "star on" : "star"}>
              <input type="radio" name="rating" required checked={n === rating} onChange={() => setRating(n)} {...(n === Math.max(1, rating) ? { "data-first": true } : {})} />
              <span aria-hidden="true">{n <= rating ? "★" : "☆"}</span>
              <span className="sr-only">{t("ratingOf", { n })}</span>
            </label>
          ))}
        </fieldset>
        <label>{t("ratingComment")}<textarea rows={3} maxLength={1000} dir="auto" value={comment} onChange={(e) => setComment(e.target.value)} /></label>
        {error && <p className="error" role="alert">{error}</p>}
        <button className="primary" disabled={busy || rating === 0}>{t("sendRating")}</button>
      </form>
    </Dialog>
  );
}
