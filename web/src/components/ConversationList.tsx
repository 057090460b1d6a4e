import { channelAddress, isThread, lasting, unread, type Client, type ConversationView, type PendingSettings, type PresenceStatus, type User } from "@rialto-im/client";
import { useConversations, useThreads } from "@rialto-im/client/react";
import { memo, useCallback, useEffect, useRef, useState, type KeyboardEvent, type WheelEvent } from "react";
import { Link } from "wouter";
import { useAction, type RunAction } from "../action.js";
import { client, useClient, useOnline } from "../client.js";
import { deleteChat } from "../deleteChat.js";
import { preview, someOf, when } from "../format.js";
import { filters, isFilter, matches, type Filter } from "../filters.js";
import { getLocale, useText, type Key, type Translate } from "../i18n.js";
import { nameOf, picturedBy, titleOf } from "../names.js";
import { useNow } from "../now.js";
import { path } from "../routes.js";
import { isSaved } from "../saved.js";
import { openSearch } from "../search/box.js";
import { IconButton } from "../ui/IconButton.js";
import { ContextItem, ContextMenu } from "../ui/ContextMenu.js";
import { VirtualList, type VirtualListHandle } from "../ui/VirtualList.js";
import { Avatar, GroupAvatar } from "./Avatar.js";
import { ChatMark } from "./ChatMark.js";
import { ChatFolders, ManageFolders } from "./Folders.js";
import { BellOffIcon, BookmarkIcon, FolderIcon, PinIcon, PlusIcon } from "./icons.js";
import { Invitations } from "./Invitations.js";
import { NewGroup } from "./NewGroup.js";

export function ConversationList({ current, onOpen, onPeople }: { current: string | undefined; onOpen: (id: string) => void; onPeople: () => void }) {
  const client = useClient();
  const t = useText();
  const now = useNow();
  const [query, setQuery] = useState("");
  const { run, error } = useAction();
  const act = useAct(run);
  const [making, setMaking] = useState(false);
  const wanted = query.trim().toLowerCase();
  const [away, setAway] = useState(false);
  const [filter, setFilter] = useState<string>("all");
  const [filing, setFiling] = useState<ConversationView>();
  const threads = useThreads().filter((c) => c.lastMessage);
  const conversations = useConversations().filter((c) => !c.dissolved || c.leaveSeq === 0); // what is over and left is gone
  const all = filter === "threads" && !wanted ? threads : conversations;
  const matching = wanted ? all.filter((c) => titleOf(c).toLowerCase().includes(wanted)) : all;
  const folder = client.folders().find((f) => f.id === filter);
  const shown = all.filter((c) => (folder ? folder.conversations.includes(c.id) : matches(c, isFilter(filter) ? filter : "all")));
  const list = wanted ? matching : shown.filter((c) => !c.archived);
  const archived = shown.filter((c) => c.archived);

  // Of an open thread, its chat.
  const open = current && client.conversation(current);
  const here = open && isThread(open) && filter !== "threads" ? open.parent : current;
  const rows: ListRow[] = wanted || archived.length === 0 ? list : [...list, fold, ...(away ? archived : [])];
  const rowsRef = useRef<VirtualListHandle>(null);
  const fromSearch = (e: KeyboardEvent) => {
    if (e.key !== "ArrowDown") return;
    e.preventDefault();
    rowsRef.current?.focus(0);
  };

  return (
    <section className="pane-list" aria-label={t("chats")}>
      <div className="list-head">
        <input type="search" onKeyDown={fromSearch} placeholder={t("search")} aria-label={t("search")} value={query} onChange={(e) => setQuery(e.target.value)} />
        <IconButton label={t("savedMessages")} onClick={() => void run(async () => onOpen((await client.openDirect(client.me)).id))}><BookmarkIcon /></IconButton>
        <IconButton label={t("newConversation")} onClick={() => setMaking(true)}><PlusIcon /></IconButton>
      </div>
      {conversations.length > 0 && !wanted && <Filters chosen={folder || isFilter(filter) ? filter : "all"} onChoose={setFilter} threads={threads.reduce((sum, c) => sum + (c.muted || c.archived ? 0 : unread(c)), 0)} />}
      {error && <p className="error" role="alert">{error}</p>}
      {!wanted && <Invitations onOpen={onOpen} />}
      {list.length === 0 && archived.length === 0 && conversations.length > 0 && !wanted && <p className="empty" role="status">{t("noneInFilter")}</p>}
      {wanted && <button className="link search-elsewhere" onClick={() => openSearch({ text: query.trim(), filters: [] })}>{t("searchElsewhere", { text: query.trim() })}</button>}
      {list.length === 0 && wanted && <NoMatch query={query} />}
      {conversations.length === 0 && !wanted && <NoChats onPeople={onPeople} />}
      <VirtualList
        ref={rowsRef}
        className="conversations"
        rows={rows}
        keyOf={(r) => (r === fold ? "fold" : r.id)}
        entry={here}
        render={(r, _, reached) =>
          r === fold ? (
            <button className="link fold" aria-expanded={away} tabIndex={reached ? 0 : -1} onClick={() => setAway(!away)}>{t("archived", { n: archived.length })}</button>
          ) : (
            <Row {...rowOf(client, r, t, now)} current={r.id === here} reached={reached} act={act} onFile={setFiling} />
          )
        }
      />
      {filing && <ChatFolders c={filing} onClose={() => setFiling(undefined)} />}
      {making && <NewGroup onClose={() => setMaking(false)} onMade={onOpen} />}
    </section>
  );
}

function NoChats({ onPeople }: { onPeople: () => void }) {
  const client = useClient();
  const t = useText();
  return (
    <div className="empty">
      <p>{t(client.catchingUp || client.connection === "connecting" ? "loading" : "noChats")}</p>
      <button className="primary small" onClick={onPeople}>{t("goFind")}</button>
    </div>
  );
}

/** What is said of a search without a result. What may be the handle of a channel leads there. */
function NoMatch({ query }: { query: string }) {
  const t = useText();
  const address = channelAddress(query);
  const handle = address && "handle" in address ? address.handle : "";
  return (
    <>
      <p className="empty" role="status">{t("noMatch")}</p>
      {handle && <p className="empty"><Link href={path.chat(handle)} className="button">{t("findChannel", { handle })}</Link></p>}
    </>
  );
}

const filterTexts: Record<Filter, Key> = { all: "filterAll", unread: "filterUnread", groups: "filterGroups", direct: "filterDirect", threads: "filterThreads" };

/**
 * Chooses which chats are listed: by a filter or a folder of one's own, by its id; or the followed threads. threads: how many unread
 * messages those have.
 */
function Filters({ chosen, onChoose, threads }: { chosen: string; onChoose: (filter: string) => void; threads: number }) {
  const client = useClient();
  const t = useText();
  const [managing, setManaging] = useState(false);
  const row = useRef<HTMLDivElement>(null);
  useEffect(() => {
    row.current?.querySelector('[aria-pressed="true"]')?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [chosen]);
  const wheel = (e: WheelEvent<HTMLDivElement>) => {
    const sign = getComputedStyle(e.currentTarget).direction === "rtl" ? -1 : 1;
    if (e.deltaX === 0) e.currentTarget.scrollLeft += sign * e.deltaY; // most mice turn one wheel
  };
  return (
    <div className="chat-filters">
      <div ref={row} className="filters" role="group" aria-label={t("filter")} onWheel={wheel}>
        {filters.map((f) => <button key={f} className="chip" aria-pressed={f === chosen} onClick={() => onChoose(f)}>{t(filterTexts[f])}{f === "threads" && threads > 0 && <b className="badge" aria-label={t("newCount", { n: threads })}>{threads > 99 ? "99+" : threads}</b>}</button>)}
        {client.folders().map((f) => <button key={f.id} className="chip" aria-pressed={f.id === chosen} onClick={() => onChoose(f.id)} data-testid="folder-chip"><bdi>{f.name}</bdi></button>)}
      </div>
      <IconButton label={t("folders")} className="chip" onClick={() => setManaging(true)}><FolderIcon /></IconButton>
      {managing && <ManageFolders onClose={() => setManaging(false)} />}
    </div>
  );
}

/** Unfolds the archived conversations, which follow it. */
const fold = Symbol("archived");
type ListRow = ConversationView | typeof fold;

/** What a row shows beside its conversation: compared, so that only rows that changed are rendered again. */
interface RowProps {
  c: ConversationView;
  title: string;
  user: User | undefined;
  status: PresenceStatus | undefined;
  emoji: string;
  /** Who is typing, as a sentence. */
  typing: string;
  /** Whose message the last one is: one's own, or in a group. */
  by: string;
  line: string;
  failed: boolean;
  time: string;
  current: boolean;
  reached: boolean;
  act: Act;
  /** Begins to put it into folders. */
  onFile: (c: ConversationView) => void;
}

/** Changes one's own view of a conversation, or deletes it for oneself; without settings, all of it is read. */
type Act = (c: ConversationView, settings?: PendingSettings | "delete") => void;

function useAct(run: RunAction): Act {
  const client = useClient();
  return useCallback((c, settings) => {
    if (settings === "delete") return void run(() => deleteChat(client, c));
    if (settings) return void run(() => client.configure(c.id, settings));
    client.read(c.id, c.lastSeq);
    if (client.conversation(c.id)?.markedUnread) void run(() => client.configure(c.id, { markedUnread: false }));
  }, [client, run]);
}

function rowOf(client: Client, c: ConversationView, t: Translate, now: number): Omit<RowProps, "current" | "reached" | "act" | "onFile"> {
  const name = (u: string) => nameOf(client, u, t);
  const group = c.peer === "0" || c.peer === "";
  const last = c.lastMessage;
  const pending = client.outgoing(c.id).at(-1);
  const typing = client.typing(c.id);
  return {
    c,
    title: titleOf(c),
    user: group ? undefined : client.user(c.peer),
    status: group || isSaved(c) ? undefined : client.presence(c.peer)?.status,
    emoji: group || isSaved(c) ? "" : (lasting(client.presence(c.peer)?.custom, now)?.emoji ?? ""),
    typing: typing.length > 0 ? t("typing", { who: someOf(typing.map(name), t), n: typing.length }) : "",
    by: pending ? t("by", { who: t("you") }) : last && last.content.kind.case !== "control" && (group || last.sender === client.me) ? t("by", { who: name(last.sender) }) : "",
    line: pending ? preview(pending, name, t) : last ? preview(last, name, t, c) : "",
    failed: pending?.failed !== undefined,
    time: last ? when(last.timeMs, getLocale(), now) : "",
  };
}

const Row = memo(function Row({ c, title, user, status, emoji, typing, by, line, failed, time, current, reached, act, onFile }: RowProps) {
  const t = useText();
  const online = useOnline();
  useEffect(() => {
    if (c.ticket && online) client.helpDesks.want(c.id); // whose it is
  }, [c.id, c.ticket, online]);
  const n = unread(c);
  const group = c.peer === "0" || c.peer === "";
  const menu = (
    <>
      {n > 0 || c.markedUnread ? <ContextItem label={t("markRead")} onSelect={() => act(c)} /> : <ContextItem label={t("markUnread")} onSelect={() => act(c, { markedUnread: true })} />}
      {!isThread(c) && <ContextItem label={t(c.pinned ? "unpin" : "pin")} onSelect={() => act(c, { pinned: !c.pinned })} />}
      <ContextItem label={t(c.muted ? "unmute" : "mute")} onSelect={() => act(c, { muted: !c.muted })} />
      <ContextItem label={t(c.archived ? "unarchive" : "archive")} onSelect={() => act(c, { archived: !c.archived })} />
      {!isThread(c) && <ContextItem label={t("addToFolder")} onSelect={() => onFile(c)} />}
      {!isThread(c) && <ContextItem label={t("deleteChat")} onSelect={() => act(c, "delete")} />}
    </>
  );
  return (
    <ContextMenu items={menu}>
      <Link href={path.chat(c.id)} className={current ? "row current" : "row"} tabIndex={reached ? 0 : -1} aria-current={current ? "page" : undefined} data-testid="conversation" data-id={c.id}>
        {group ? <GroupAvatar c={picturedBy(c)} size={44} /> : <Avatar id={c.peer} name={user?.displayName ?? ""} url={user?.avatarUrl} size={44} dot={status} />}
        {status && status !== "offline" && <span className="sr-only">{t(status)}</span>}
        <span className="row-main">
          <span className="row-top">
            <strong><bdi>{title}</bdi><ChatMark c={c} />{emoji && <> {emoji}</>}</strong>
            {c.muted && <><BellOffIcon /><span className="sr-only">{t("muted")}</span></>}
            {c.pinned && <><PinIcon /><span className="sr-only">{t("pinned")}</span></>}
            <time>{time}</time>
          </span>
          <span className="row-bottom">
            {typing ? (
              <em>{typing}</em>
            ) : c.draft && !current ? (
              <span><em className="draft">{t("draft")}</em> {c.draft.slice(0, 200)}</span>
            ) : (
              <span>{failed && <em className="draft">{t("notSent")} </em>}{by}<bdi>{line}</bdi></span>
            )}
            {c.mentions.length > 0 && <b className="badge" aria-label={t("mentionsYou")} data-testid="mention">@</b>}
            {n === 0 && c.markedUnread && <b className={c.muted ? "badge quiet" : "badge"} role="img" aria-label={t("markedUnread")} data-testid="marked" />}
            {n > 0 && <b className={c.muted ? "badge quiet" : "badge"} aria-label={t("newCount", { n })} data-testid="unread">{n > 999 ? "999+" : n}</b>}
          </span>
        </span>
      </Link>
    </ContextMenu>
  );
});
