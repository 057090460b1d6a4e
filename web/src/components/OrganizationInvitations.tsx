import { useState, type FormEvent } from "react";
import type { RunAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import type { Listed } from "../pages.js";
import { usePages } from "../usePages.js";
import { UserAvatar } from "./Avatar.js";
import { PickPeople } from "./PickPeople.js";

/** How an admin asks people to become members, sees who has not answered, and takes invitations back. */
export function OrganizationInvitations({ organization, version, run, changed }: { organization: string; version: number; run: RunAction; changed: () => void }) {
  const client = useClient();
  const t = useText();
  const [picked, setPicked] = useState<string[]>();
  const { list = [], more } = usePages(run, `invitations ${organization}`, version, async (page): Promise<Listed<string>> => {
    const { invitations, next } = await client.organizationApi.listOrganizationInvitations({ organization, page });
    return { items: invitations.map((i) => i.user), next };
  });
  const invite = (e: FormEvent) => {
    e.preventDefault();
    void run(async () => {
      await client.organizationApi.inviteToOrganization({ organization, users: picked ?? [] });
      setPicked(undefined);
      changed();
    });
  };
  const takeBack = (user: string) =>
    void run(async () => {
      await client.organizationApi.cancelOrganizationInvitation({ organization, user });
      changed();
    });
  return (
    <section className="stack" aria-label={t("inviteMembers")}>
      <button className="small" aria-expanded={picked !== undefined} onClick={() => setPicked(picked ? undefined : [])}>{t("inviteMembers")}</button>
      {picked && (
        <form className="stack" onSubmit={invite}>
          <PickPeople picked={picked} onChange={setPicked} without={[...list]} everyone />
          <button className="primary" disabled={picked.length === 0}>{t("invite")}</button>
        </form>
      )}
      {list.length > 0 && (
        <>
          <h3>{t("openInvitations")}</h3>
          {list.map((user) => (
            <div key={user} className="person" data-testid="invited">
              <UserAvatar user={user} />
              <span className="person-name"><bdi className="name">{nameOf(client, user)}</bdi></span>
              <button className="small" aria-label={t("takeBackInvitation", { name: nameOf(client, user) })} onClick={() => takeBack(user)}>{t("takeBack")}</button>
            </div>
          ))}
          {more && <button className="link" onClick={more}>{t("showMore")}</button>}
        </>
      )}
    </section>
  );
}
