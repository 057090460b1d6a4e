import { unread, type Client, type ConversationView, type User } from "@rialto-im/client";
import { memo, useCallback, useRef, useState, type KeyboardEvent } from "react";
import { useClient } from "../client.js";
import { preview, when } from "../format.js";
import { getLocale, useText, type Translate } from "../i18n.js";
import { nameOf, titleOf } from "../names.js";
import { Avatar } from "./Avatar.js";
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

  const latest = useRef(onOpen);
  latest.current = onOpen;
  const opens = useCallback((id: string) => latest.current(id), []);

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
        {list.map((c) => <Row key={c.id} {...rowOf(client, c, t)} current={c.id === current} reached={c.id === entry} onOpen={opens} />)}
      </ul>
      {archived.length > 0 && !wanted && (
        <>
          <button className="link fold" aria-expanded={away} onClick={() => setAway(!away)}>{t("archived", { n: archived.length })}</button>
          {away && <ul className="rows">{archived.map((c) => <Row key={c.id} {...rowOf(client, c, t)} current={c.id === current} reached onOpen={opens} />)}</ul>}
        </>
      )}
      {making && <NewGroup onClose={() => setMaking(false)} onMade={onOpen} />}
    </section>
  );
}

/** What a row shows beside its conversation: compared, so that only rows that changed are rendered again. */
interface RowProps {
  c: ConversationView;
  title: string;
  user: User | undefined;
  online: boolean;
  /** Who is typing. */
  typing: string;
  /** Whose message the last one is, in a group. */
  by: string;
  line: string;
  failed: boolean;
  time: string;
  current: boolean;
  reached: boolean;
  onOpen: (id: string) => void;
}

function rowOf(client: Client, c: ConversationView, t: Translate): Omit<RowProps, "current" | "reached" | "onOpen"> {
  const name = (u: string) => nameOf(client, u, t);
  const group = c.peer === "0" || c.peer === "";
  const last = c.lastMessage;
  const pending = client.outgoing(c.id).at(-1);
  return {
    c,
    title: titleOf(client, c),
    user: group ? undefined : client.user(c.peer),
    online: !group && client.connection === "online" && client.presence(c.peer)?.online === true,
    typing: client.typing(c.id).map(name).join(", "),
    by: !pending && last && group && last.content.kind.case !== "control" && last.sender !== client.me ? `${name(last.sender)}: ` : "",
    line: pending ? preview(pending, name, t) : last ? preview(last, name, t) : "",
    failed: pending?.failed !== undefined,
    time: last ? when(last.timeMs, getLocale(), t) : "",
  };
}

const Row = memo(function Row({ c, title, user, online, typing, by, line, failed, time, current, reached, onOpen }: RowProps) {
  const t = useText();
  const n = unread(c);
  const group = c.peer === "0" || c.peer === "";
  return (
    <li>
      <button className={current ? "row current" : "row"} tabIndex={reached ? 0 : -1} aria-current={current || undefined} onClick={() => onOpen(c.id)} data-testid="conversation" data-id={c.id}>
        {group ? <Avatar id={c.id} name={c.title} size={44} /> : <Avatar id={c.peer} name={user?.displayName ?? ""} url={user?.avatarUrl} size={44} dot={online} />}
        {online && <span className="sr-only">{t("online")}</span>}
        <span className="row-main">
          <span className="row-top">
            <strong><bdi>{title}</bdi></strong>
            {c.muted && <><BellOffIcon /><span className="sr-only">{t("muted")}</span></>}
            {c.pinned && <><PinIcon /><span className="sr-only">{t("pinned")}</span></>}
            <time>{time}</time>
          </span>
          <span className="row-bottom">
            {typing ? (
              <em>{t("typing", { who: typing })}</em>
            ) : c.draft && !current ? (
              <span><em className="draft">{t("draft")}</em> {c.draft.slice(0, 200)}</span>
            ) : (
              <span>{failed && <em className="draft">{t("notSent")} </em>}{by}<bdi>{line}</bdi></span>
            )}
            {n > 0 && <b className={c.muted ? "badge quiet" : "badge"} aria-label={t("newCount", { n })} data-testid="unread">{n > 999 ? "999+" : n}</b>}
          </span>
        </span>
      </button>
    </li>
  );
});
