import { unread, type ConversationView } from "@rialto-im/client";
import { useState, type KeyboardEvent } from "react";
import { useClient } from "../client.js";
import { preview, when } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { nameOf, titleOf } from "../names.js";
import { Avatar, UserAvatar } from "./Avatar.js";
import { BellOffIcon, PinIcon, PlusIcon } from "./icons.js";
import { NewGroup } from "./NewGroup.js";

export function ConversationList({ current, onOpen }: { current: string | undefined; onOpen: (id: string) => void }) {
  const client = useClient();
  const t = useText();
  const [query, setQuery] = useState("");
  const [making, setMaking] = useState(false);
  const wanted = query.trim().toLowerCase();
  const list = client.conversations().filter((c) => !c.archived && (!wanted || titleOf(client, c).toLowerCase().includes(wanted)));

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
      {list.length === 0 && <p className="empty">{t("noChats")}</p>}
      <ul className="rows">
        {list.map((c) => <Row key={c.id} c={c} current={c.id === current} onOpen={onOpen} />)}
      </ul>
      {making && <NewGroup onClose={() => setMaking(false)} onMade={onOpen} />}
    </section>
  );
}

function Row({ c, current, onOpen }: { c: ConversationView; current: boolean; onOpen: (id: string) => void }) {
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
      <button className={current ? "row current" : "row"} aria-current={current} onClick={() => onOpen(c.id)} data-testid="conversation" data-id={c.id}>
        {group ? <Avatar id={c.id} name={c.title} size={44} /> : <UserAvatar user={c.peer} size={44} presence />}
        <span className="row-main">
          <span className="row-top">
            <strong>{title}</strong>
            {c.muted && <BellOffIcon />}
            {c.pinned && <PinIcon />}
            <time>{last ? when(last.timeMs, getLocale(), t) : ""}</time>
          </span>
          <span className="row-bottom">
            {typing.length > 0 ? (
              <em>{t("typing", { who: typing.map(name).join(", ") })}</em>
            ) : c.draft && !current ? (
              <span><em className="draft">{t("draft")}</em> {c.draft}</span>
            ) : (
              <span>{by}{line}</span>
            )}
            {n > 0 && <b className={c.muted ? "badge quiet" : "badge"} aria-label={`${n} ${t("newMessages")}`} data-testid="unread">{n > 999 ? "999+" : n}</b>}
          </span>
        </span>
      </button>
    </li>
  );
}
