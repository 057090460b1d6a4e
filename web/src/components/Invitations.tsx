import { useLocation } from "wouter";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { path } from "../routes.js";
import { Avatar } from "./Avatar.js";
import "./people.css";

/** Invitations to groups and organizations, to accept or decline. */
export function Invitations({ onOpen }: { onOpen: (conversation: string) => void }) {
  const client = useClient();
  const t = useText();
  const [, go] = useLocation();
  const { run, busy, error } = useAction();
  const groups = client.invitations();
  const organizations = client.organizationInvitations();
  const count = groups.length + organizations.length;
  const answerGroup = (conversation: string, accept: boolean) =>
    run(async () => {
      await client.answerInvitation(conversation, accept);
      if (accept) onOpen(conversation);
    });
  const answerOrganization = (organization: string, accept: boolean) =>
    run(async () => {
      await client.answerOrganizationInvitation(organization, accept);
      if (accept) go(path.organization(organization));
    });
  return (
    <>
      {error && <p className="error" role="alert">{error}</p>}
      <div role="status" className="sr-only">{count > 0 && t("invitationCount", { n: count })}</div>
      {count > 0 && (
        <section className="people invitations" aria-label={t("invitations")}>
          <h2>{t("invitations")}</h2>
          <ul>
            {groups.map((i) => (
              <li key={i.conversation} className="person" data-testid="invitation">
                <Avatar id={i.conversation} name={i.title} size={44} />
                <span className="person-name"><bdi className="name">{i.title}</bdi><small>{t("invitedBy", { who: nameOf(client, i.inviter) })}</small></span>
                <button className="primary small" disabled={busy} onClick={() => answerGroup(i.conversation, true)} aria-label={t("acceptInvitation", { group: i.title })}>{t("accept")}</button>
                <button disabled={busy} onClick={() => answerGroup(i.conversation, false)} aria-label={t("declineInvitation", { group: i.title })}>{t("decline")}</button>
              </li>
            ))}
            {organizations.map((i) => (
              <li key={`o${i.organization}`} className="person" data-testid="organization-invitation">
                <Avatar id={i.organization} name={i.name} size={44} />
                <span className="person-name"><bdi className="name">{i.name}</bdi><small>{t("organizationInvitation", { who: nameOf(client, i.inviter) })}</small></span>
                <button className="primary small" disabled={busy} onClick={() => answerOrganization(i.organization, true)} aria-label={t("acceptOrganization", { name: i.name })}>{t("accept")}</button>
                <button disabled={busy} onClick={() => answerOrganization(i.organization, false)} aria-label={t("declineOrganization", { name: i.name })}>{t("decline")}</button>
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}
