import { unread, type ConversationView } from "@rialto-im/client";
import { useState, type KeyboardEvent } from "react";
import { useClient } from "../client.js";
import { preview, when } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { nameOf, titleOf } from "../names.js";
import { Avatar, UserAvatar } from "./Avatar.js";
import { BellOffIcon, PinIcon, PlusIcon } from "./icons.js";
import { NewGroup } from "./NewGroup.js";

export function ConversationList({ current, onOpen, onPeople }: { current: string | undefined; onOpen: (id: string) => void; onPeople: () => void }) {
  const client = useClient();
  const t = useText();
  const [query, setQuery] = useState("");
  const [making, setMaking] = useState(false);
  const wanted = query.trim().toLowerCase();
  const [away, setAway] = useState(false);
  const all = client.conversations();
  const matching = wanted ? all.filter((c) => titleOf(client, c).toLowerCase().includes(wanted)) : all;
  const list = wanted ? matching : all.filter((c) => !c.archived);
  // Tab comes to one row, and goes on to the chat; the arrow keys lead to the others.
  const entry = list.some((c) => c.id === current) ? current : list[0]?.id;
  const archived = all.filter((c) => c.archived);

  const move = (e: KeyboardEvent<HTMLElement>) => {
    if (!["ArrowDown", "ArrowUp", "Home", "End"].includes(e.key) || (e.target as Element).closest("dialog")) return;
    const items = [...e.currentTarget.querySelectorAll<HTMLElement>("button.row")];
    const at = items.indexOf(document.activeElement as HTMLElement);
    if (at < 0 && e.key !== "ArrowDown") return; // in the search field
    const next = e.key === "Home" ? items[0] : e.key === "End" ? items.at(-1) : items[at + (e.key === "ArrowDown" ? 1 : -1)];
    if (next) {
      next.focus();
      e.preventDefault();
    }
  };

  return (
    <section className="pane-list" aria-label={t("chats")} onKeyDown={move}>
      <div className="list-head">
        <input type="search" placeholder={t("search")} aria-label={t("search")} value={query} onChange={(e) => setQuery(e.target.value)} />
        <button className="icon" aria-label={t("newGroup")} title={t("newGroup")} onClick={() => setMaking(true)}><PlusIcon /></button>
      </div>
      {list.length === 0 && wanted && <p className="empty" role="status">{t("noMatch")}</p>}
      {all.length === 0 && !wanted && (
        <div className="empty">
          <p>{t(client.catchingUp || client.connection === "connecting" ? "loading" : "noChats")}</p>
          <button className="primary small" onClick={onPeople}>{t("goFind")}</button>
        </div>
      )}
      <ul className="rows">
        {list.map((c) => <Row key={c.id} c={c} current={c.id === current} reached={c.id === entry} onOpen={onOpen} />)}
      </ul>
      {archived.length > 0 && !wanted && (
        <>
          <button className="link fold" aria-expanded={away} onClick={() => setAway(!away)}>{t("archived", { n: archived.length })}</button>
          {away && <ul className="rows">{archived.map((c) => <Row key={c.id} c={c} current={c.id === current} reached onOpen={onOpen} />)}</ul>}
        </>
      )}
      {making && <NewGroup onClose={() => setMaking(false)} onMade={onOpen} />}
    </section>
  );
}

function Row({ c, current, reached, onOpen }: { c: ConversationView; current: boolean; reached: boolean; onOpen: (id: string) => void }) {
  const client = useClient();
  const t = useText();
  const title = titleOf(client, c);
  const n = unread(c);
  const last = c.lastMessage;
  const name = (u: string) => nameOf(client, u, t);
  const typing = client.typing(c.id);
  const group = c.peer === "0" || c.peer === "";
  const pending = client.outgoing(c.id).at(-1);
  const line = pending ? preview(pending, name, t) : last ? preview(last, name, t) : "";
  const by = !pending && last && group && last.content.kind.case !== "control" && last.sender !== client.me ? `${name(last.sender)}: ` : "";
  return (
    <li>
      <button className={current ? "row current" : "row"} tabIndex={reached ? 0 : -1} aria-current={current || undefined} onClick={() => onOpen(c.id)} data-testid="conversation" data-id={c.id}>
        {group ? <Avatar id={c.id} name={c.title} size={44} /> : <UserAvatar user={c.peer} size={44} presence />}
        <span className="row-main">
          <span className="row-top">
            <strong><bdi>{title}</bdi></strong>
            {c.muted && <><BellOffIcon /><span className="sr-only">{t("muted")}</span></>}
            {c.pinned && <><PinIcon /><span className="sr-only">{t("pinned")}</span></>}
            <time>{last ? when(last.timeMs, getLocale(), t) : ""}</time>
          </span>
          <span className="row-bottom">
            {typing.length > 0 ? (
              <em>{t("typing", { who: typing.map(name).join(", ") })}</em>
            ) : c.draft && !current ? (
              <span><em className="draft">{t("draft")}</em> {c.draft}</span>
            ) : (
              <span>{pending?.failed && <em className="draft">{t("notSent")} </em>}{by}<bdi>{line}</bdi></span>
            )}
            {n > 0 && <b className={c.muted ? "badge quiet" : "badge"} aria-label={t("newCount", { n })} data-testid="unread">{n > 999 ? "999+" : n}</b>}
          </span>
        </span>
      </button>
    </li>
  );
}
