import type { Relation, User } from "@rialto-im/client";
import { useEffect, useState, type ReactNode } from "react";
import { errorText, useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { Avatar, UserAvatar } from "./Avatar.js";
import { Confirm } from "./Confirm.js";
import { Menu } from "./Menu.js";

/** Finding people, requests, friends and those who are blocked. */
export function People({ onOpen }: { onOpen: (conversation: string) => void }) {
  const client = useClient();
  const t = useText();
  const [query, setQuery] = useState("");
  const [found, setFound] = useState<User[] | undefined>();
  const [error, setError] = useState("");

  useEffect(() => {
    const q = query.trim();
    setFound(undefined);
    if (q.length < 2) return;
    let stale = false;
    const timer = setTimeout(() => {
      client.account.searchUsers({ query: q }).then(
        (r) => {
          if (stale) return;
          client.takeUsers(r.users);
          setFound(r.users.filter((u) => u.id !== client.me).map((u) => ({ ...u, fetchedMs: Date.now() })));
        },
        (err: unknown) => !stale && setError(errorText(err)),
      );
    }, 250);
    return () => {
      stale = true;
      clearTimeout(timer);
    };
  }, [query, client]);

  const run = async (work: () => Promise<void>) => {
    setError("");
    try {
      await work();
    } catch (err) {
      setError(errorText(err));
    }
  };
  const write = (user: string) => run(async () => onOpen((await client.openDirect(user)).id));
  const relations = [...client.relations().values()];
  const asked = relations.filter((r) => r.asked && !r.friend && !r.blocked);
  const friends = relations.filter((r) => r.friend && !r.blocked);
  const blocked = relations.filter((r) => r.blocked);

  return (
    <section className="pane-list" aria-label={t("people")}>
      <div className="list-head">
        <input type="search" placeholder={t("findPeople")} aria-label={t("findPeople")} value={query} onChange={(e) => setQuery(e.target.value)} />
      </div>
      {error && <p className="error" role="alert">{error}</p>}
      <div className="rows">
        {found && (
          <Section title={t("findPeople")}>
            {found.length === 0 && <p className="empty">{t("nobody")}</p>}
            {found.map((u) => {
              const r = client.relations().get(u.id);
              return (
                <div className="person" key={u.id} data-testid="person">
                  <Avatar id={u.id} name={u.displayName} url={u.avatarUrl} />
                  <span className="person-name">{u.displayName}<small>@{u.handle}</small></span>
                  {!r?.friend && (r?.requested ? <span className="muted">{t("requested")}</span> : <button onClick={() => run(() => client.relate(client.graph.requestFriend({ user: u.id })))}>{t("addFriend")}</button>)}
                  <button onClick={() => write(u.id)}>{t("message")}</button>
                </div>
              );
            })}
          </Section>
        )}
        {asked.length > 0 && (
          <Section title={t("requests")}>
            {asked.map((r) => (
              <Person key={r.user} r={r}>
                <button className="primary small" onClick={() => run(() => client.relate(client.graph.answerFriend({ user: r.user, accept: true })))}>{t("accept")}</button>
                <button onClick={() => run(() => client.relate(client.graph.answerFriend({ user: r.user, accept: false })))}>{t("decline")}</button>
              </Person>
            ))}
          </Section>
        )}
        <Section title={t("friends")}>
          {friends.length === 0 && <p className="empty">{t("noFriends")}</p>}
          {friends.map((r) => (
            <Person key={r.user} r={r} presence>
              <button onClick={() => write(r.user)}>{t("message")}</button>
              <Menu label={nameOf(client, r.user)}>
                <Confirm label={t("removeFriend")} question={t("sureUnfriend", { who: nameOf(client, r.user) })} onYes={() => void run(() => client.relate(client.graph.deleteFriend({ user: r.user })))} />
                <Confirm label={t("block")} question={t("sureBlock", { who: nameOf(client, r.user) })} onYes={() => void run(() => client.relate(client.graph.block({ user: r.user })))} />
              </Menu>
            </Person>
          ))}
        </Section>
        {blocked.length > 0 && (
          <Section title={t("blocked")}>
            {blocked.map((r) => (
              <Person key={r.user} r={r}>
                <button onClick={() => run(() => client.relate(client.graph.unblock({ user: r.user })))}>{t("unblock")}</button>
              </Person>
            ))}
          </Section>
        )}
      </div>
    </section>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="people">
      <h3>{title}</h3>
      {children}
    </section>
  );
}

function Person({ r, presence = false, children }: { r: Relation; presence?: boolean; children: ReactNode }) {
  const client = useClient();
  const u = client.user(r.user);
  return (
    <div className="person" data-testid="person">
      <UserAvatar user={r.user} presence={presence} />
      <span className="person-name">{nameOf(client, r.user)}<small>{r.message || (u ? `@${u.handle}` : "")}</small></span>
      {children}
    </div>
  );
}
