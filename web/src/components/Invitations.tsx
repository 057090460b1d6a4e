import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { Avatar } from "./Avatar.js";
import "./people.css";

/** Invitations to groups, to accept or decline. */
export function Invitations({ onOpen }: { onOpen: (conversation: string) => void }) {
  const client = useClient();
  const t = useText();
  const { run, busy, error } = useAction();
  const list = client.invitations();
  const answer = (conversation: string, accept: boolean) =>
    run(async () => {
      await client.answerInvitation(conversation, accept);
      if (accept) onOpen(conversation);
    });
  return (
    <>
      {error && <p className="error" role="alert">{error}</p>}
      <div role="status" className="sr-only">{list.length > 0 && t("invitationCount", { n: list.length })}</div>
      {list.length > 0 && (
        <section className="people invitations" aria-label={t("invitations")}>
          <h2>{t("invitations")}</h2>
          <ul>
            {list.map((i) => (
              <li key={i.conversation} className="person" data-testid="invitation">
                <Avatar id={i.conversation} name={i.title} size={44} />
                <span className="person-name"><bdi className="name">{i.title}</bdi><small>{t("invitedBy", { who: nameOf(client, i.inviter) })}</small></span>
                <button className="primary small" disabled={busy} onClick={() => answer(i.conversation, true)} aria-label={t("acceptInvitation", { group: i.title })}>{t("accept")}</button>
                <button disabled={busy} onClick={() => answer(i.conversation, false)} aria-label={t("declineInvitation", { group: i.title })}>{t("decline")}</button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
