import type { Relation } from "@rialto-im/client";
import type { AgentWork } from "@rialto-im/client/react";
import { useEffect, useState, type ReactNode } from "react";
import { Link } from "wouter";
import { useAction, type RunAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { path } from "../routes.js";
import { HelpDeskList } from "./HelpDeskList.js";
import { useDesks } from "./useDesks.js";
import { useOrganizations } from "./useOrganizations.js";
import { useUserSearch } from "./useUserSearch.js";
import { UserAvatar } from "./Avatar.js";
import { AddPersonIcon, ChatIcon } from "./icons.js";
import { IconButton } from "../ui/IconButton.js";
import "./people.css";
import { Menu, MenuItem } from "../ui/Menu.js";

interface Suggested {
  user: string;
  mutual: number;
}

/** Finding people, requests, friends and those who are blocked. */
export function People({ work, onOpen }: { work: readonly AgentWork[]; onOpen: (conversation: string) => void }) {
  const client = useClient();
  const t = useText();
  const [query, setQuery] = useState("");
  const { run, error, setError } = useAction();
  const found = useUserSearch(query, setError);
  const suggested = useSuggested();
  const organizations = useOrganizations();
  const desks = useDesks();
  const write = (user: string) => run(async () => onOpen((await client.openDirect(user)).id));
  const relations = [...client.relations().values()];
  const asked = relations.filter((r) => r.asked && !r.friend && !r.blocked);
  const friends = relations.filter((r) => r.friend && !r.blocked);
  const blocked = relations.filter((r) => r.blocked);
  const following = relations.filter((r) => r.following && !r.friend && !r.blocked);
  const maybe = suggested.filter((s) => !client.relations().has(s.user));

  return (
    <section className="pane-list" aria-label={t("people")}>
      <div className="list-head">
        <input type="search" placeholder={t("findPeople")} aria-label={t("findPeople")} value={query} onChange={(e) => setQuery(e.target.value)} />
      </div>
      {error && <p className="error" role="alert">{error}</p>}
      <div className="rows">
        {found ? (
          <Section title={t("results")}>
            <div role="status">{found.length === 0 && <p className="empty">{t("nobody")}</p>}</div>
            {found.map((u) => <Person key={u.id} user={u.id}><PersonActions user={u.id} run={run} write={write} /></Person>)}
          </Section>
        ) : (
          <>
            {asked.length > 0 && (
              <Section title={t("requests")}>
                {asked.map((r) => <Person key={r.user} user={r.user} message={r.message}><PersonActions user={r.user} run={run} write={write} /></Person>)}
              </Section>
            )}
            {organizations.length > 0 && (
              <Section title={t("organizations")}>
                {organizations.map((o) => <Link key={o.id} className="person" href={path.organization(o.id)}><bdi className="person-name">{o.name}</bdi></Link>)}
              </Section>
            )}
            {desks.length > 0 && <Section title={t("helpDesks")}><HelpDeskList desks={desks} work={work} /></Section>}
            <Section title={t("friends")}>
              {friends.length === 0 && <p className="empty">{t("howToFind")}</p>}
              {friends.map((r) => <Person key={r.user} user={r.user} presence><PersonActions user={r.user} run={run} write={write} /></Person>)}
            </Section>
            {maybe.length > 0 && (
              <Section title={t("suggestions")}>
                {maybe.map((s) => <Person key={s.user} user={s.user} small={t("mutual", { n: s.mutual })}><PersonActions user={s.user} run={run} write={write} /></Person>)}
              </Section>
            )}
            {following.length > 0 && (
              <Section title={t("following")}>
                {following.map((r) => <Person key={r.user} user={r.user}><PersonActions user={r.user} run={run} write={write} /></Person>)}
              </Section>
            )}
            {blocked.length > 0 && (
              <Section title={t("blocked")}>
                {blocked.map((r) => <Person key={r.user} user={r.user}><PersonActions user={r.user} run={run} write={write} /></Person>)}
              </Section>
            )}
          </>
        )}
      </div>
    </section>
  );
}

/** Friends of friends. Nice to have: without a network there are none. */
function useSuggested(): Suggested[] {
  const client = useClient();
  const [list, setList] = useState<Suggested[]>([]);
  useEffect(() => {
    let stale = false;
    client.graph.suggestFriends({}).then(
      (r) => {
        const known = r.suggestions.flatMap((s) => (s.user ? [{ user: s.user, mutual: s.mutualFriends }] : []));
        client.takeUsers(known.map((s) => s.user));
        if (!stale) setList(known.map((s) => ({ user: s.user.id, mutual: s.mutual })));
      },
      () => {},
    );
    return () => {
      stale = true;
    };
  }, [client]);
  return list;
}

/** What one can do with a person, as one stands with them. */
function PersonActions({ user, run, write }: { user: string; run: RunAction; write: (user: string) => void }) {
  const client = useClient();
  const t = useText();
  const { graph } = client;
  const r: Relation | undefined = client.relations().get(user);
  const who = nameOf(client, user);
  const answer = (accept: boolean) => run(() => client.relate(graph.answerFriend({ user, accept })));
  if (r?.blocked) return <button onClick={() => run(() => client.relate(graph.unblock({ user })))}>{t("unblock")}</button>;
  if (r?.asked && !r.friend) {
    return (
      <>
        <button className="primary small" onClick={() => answer(true)}>{t("accept")}</button>
        <button onClick={() => answer(false)}>{t("decline")}</button>
      </>
    );
  }
  return (
    <>
      {!r?.friend && (r?.requested ? <span className="muted">{t("requested")}</span> : <IconButton label={t("addFriend")} onClick={() => run(() => client.relate(graph.requestFriend({ user })))}><AddPersonIcon /></IconButton>)}
      <IconButton label={t("message")} onClick={() => write(user)}><ChatIcon /></IconButton>
      <Menu label={who}>
        <MenuItem label={t(r?.following ? "unfollow" : "follow")} onSelect={() => void run(() => client.relate(r?.following ? graph.unfollow({ user }) : graph.follow({ user })))} />
        {r?.friend && <MenuItem label={t("removeFriend")} sure={t("sureUnfriend", { who })} onSelect={() => void run(() => client.relate(graph.deleteFriend({ user })))} />}
        <MenuItem label={t("block")} sure={t(r?.friend ? "sureBlockFriend" : "sureBlock", { who })} onSelect={() => void run(() => client.relate(graph.block({ user })))} />
      </Menu>
    </>
  );
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="people">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

function Person({ user, message, small, presence = false, children }: { user: string; message?: string; small?: string; presence?: boolean; children: ReactNode }) {
  const client = useClient();
  const handle = client.user(user)?.handle;
  return (
    <div className="person" data-testid="person">
      <Link href={path.user(handle ?? user)} className="person-who">
        <UserAvatar user={user} presence={presence} />
        <span className="person-name"><bdi className="name">{nameOf(client, user)}</bdi><small>{small ?? (handle ? `@${handle}` : "")}</small></span>
      </Link>
      {children}
      {message && <p className="person-message" dir="auto">{message}</p>}
    </div>
  );
}
