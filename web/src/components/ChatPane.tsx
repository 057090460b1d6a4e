import { isThread, Role, type Client, type ConversationView } from "@rialto-im/client";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { useClient, useOnline } from "../client.js";
import { ago, customText, someOf, until } from "../format.js";
import { getLocale, useText, type Translate } from "../i18n.js";
import { nameOf, titleOf } from "../names.js";
import { isSaved } from "../saved.js";
import { useNow } from "../now.js";
import { go, goBackTo, goUp, path } from "../routes.js";
import { openSearch } from "../search/box.js";
import { IconButton } from "../ui/IconButton.js";
import { Tip } from "../ui/Tip.js";
import { GroupAvatar, UserAvatar } from "./Avatar.js";
import { ChatMark } from "./ChatMark.js";
import { Composer } from "./Composer.js";
import { ChannelFoot } from "./ChannelFoot.js";
import "./chat.css";
import { InfoPanel } from "./InfoPanel.js";
import { BackIcon, InfoIcon, SearchIcon } from "./icons.js";
import { EditMessage } from "./EditMessage.js";
import { ForwardActions } from "./ForwardActions.js";
import { answeredBy, type Acting } from "./MessageMenu.js";
import { MessageList } from "./MessageList.js";
import { SendFiles } from "./SendFiles.js";
import { ThreadPanel } from "./ThreadPanel.js";
import { OfficialMenu } from "./OfficialMenu.js";
import { TicketBar } from "./TicketBar.js";
import { UnknownChat } from "./UnknownChat.js";
import { UploadList } from "./UploadList.js";
import { useFiles } from "./useFiles.js";

/** A chat. With info, its panel is open beside it; with a seq, that message is in view. Of a thread, its chat with the thread beside it. */
export function ChatPane({ id: opened, info, seq, onBack, onOpen }: { id: string; info: boolean; seq: number | undefined; onBack: () => void; onOpen: (id: string) => void }) {
  const client = useClient();
  const t = useText();
  const known = client.conversation(opened);
  const thread = known && isThread(known) ? known : undefined;
  const id = thread ? thread.parent : opened;
  const files = useFiles(id);
  /** What one answers, or edits, in this chat. */
  const [acting, setActing] = useState<Acting>();
  const on = acting?.conversation === id ? acting : undefined;
  const done = () => setActing(undefined);
  const [scheduled, setScheduled] = useState(0); // times that files were scheduled: the panel lists them then
  const infoButton = useRef<HTMLButtonElement>(null);
  const found = client.conversation(id);
  const c = found?.kind ? found : undefined; // of a channel that one has left, some events may come late
  const isOut = c === undefined || c.leaveSeq > 0;
  useLeaving(isOut, info);
  useRenderAt(c?.mutedUntilMs ?? 0);
  useComingBack(opened);
  useFollowerCount(id, c?.channel === true && !isOut, info);
  const back = <IconButton label={t("back")} className="back" onClick={onBack}><BackIcon /></IconButton>;
  if (!c && client.connection === "online" && !client.catchingUp) return <UnknownChat key={id} id={id} onBack={onBack} />;
  if (!c) return <main className="chat"><header className="chat-head">{back}<p className="muted" role="status">{t("loading")}</p></header></main>;
  const closeInfo = () => {
    goUp();
    infoButton.current?.focus();
  };
  const closeThread = () => {
    goBackTo(path.chat(id));
    document.querySelector<HTMLElement>(".messages")?.focus();
  };
  const key = (e: KeyboardEvent) => {
    if (e.key !== "Escape" || e.defaultPrevented || e.nativeEvent.isComposing) return;
    if (info) closeInfo();
    else if (thread) closeThread();
    else onBack();
  };
  const note = noteOf(client, c, t);
  return (
    <main className={info ? "chat with-info" : thread ? "chat with-thread" : "chat"} aria-label={titleOf(c)} onKeyDown={key} {...files.dropZone(note !== "" || isFollower(c))}>
      <header className="chat-head">
        {back}
        <Heading c={c} />
        <IconButton label={t("searchInChat")} onClick={() => openSearch({ text: "", filters: [{ name: "in", conversation: id }] })} data-testid="search-in-chat"><SearchIcon /></IconButton>
        <IconButton ref={infoButton} label={t("groupInfo")} aria-expanded={info} onClick={() => (info ? goUp() : go(path.info(id)))}><InfoIcon /></IconButton>
      </header>
      {c.ticket && <TicketBar key={`t${id}`} c={c} />}
      {c.announcement && !c.channel && !c.ticket && <Announcement text={c.announcement} key={c.announcement} />}
      <ForwardActions key={`f${id}`} c={c} onAct={setActing}><MessageList key={id} c={c} seq={thread ? undefined : seq} /></ForwardActions>
      <UploadList conversation={id} />
      {isDirect(c) && !note && <OfficialMenu key={`o${id}`} user={c.peer} conversation={id} />}
      {files.over && <p className="drop">{t("dropHere")}</p>}
      {isFollower(c) ? <ChannelFoot key={`m${id}`} c={c} /> : note ? <p className="closed-note">{note}</p> : on?.kind === "edit" ? <EditMessage key={`e${on.seq}`} c={c} seq={on.seq} text={on.text} onDone={done} /> : <Composer key={`c${id}`} c={c} replyTo={answeredBy(on)} onReplied={done} onFiles={files.choose} />}
      {files.files.length > 0 && <SendFiles key={`s${id}`} conversation={id} files={files.files} onClose={files.clear} onScheduled={() => { setScheduled(scheduled + 1); go(path.info(id)); }} />}
      {thread && <ThreadPanel key={thread.id} c={thread} parent={c} seq={seq} note={note} onClose={closeThread} />}
      {info && <InfoPanel key={`i${scheduled}`} c={c} onClose={closeInfo} onOpen={onOpen} />}
    </main>
  );
}

function Heading({ c }: { c: ConversationView }) {
  return (
    <>
      {isDirect(c) ? <UserAvatar user={c.peer} presence={!isSaved(c)} /> : <GroupAvatar c={c} />}
      <div className="chat-title">
        <h2><bdi>{titleOf(c)}</bdi><ChatMark c={c} /></h2>
        <Subtitle c={c} />
      </div>
    </>
  );
}

/** A line that unfolds. */
function Announcement({ text }: { text: string }) {
  const t = useText();
  return (
    <details className="announcement">
      <Tip label={t("showAll")}><summary><b>{t("announcement")}</b> <span dir="auto">{text}</span></summary></Tip>
    </details>
  );
}

/** Whoever opens a chat that they had marked as unread has come back to it. */
function useComingBack(id: string): void {
  const client = useClient();
  useEffect(() => {
    if (client.conversation(id)?.markedUnread) client.configure(id, { markedUnread: false }).catch(() => {}); // refused: it stays marked
  }, [client, id]);
}

/** Closes the panel of who leaves a group, or is removed from it: they have nothing to manage there any more. */
function useLeaving(isOut: boolean, info: boolean): void {
  const wasOut = useRef(isOut);
  useEffect(() => {
    if (isOut && !wasOut.current && info) goUp();
    wasOut.current = isOut;
  }, [isOut, info]);
}

/** Reads how many follow a channel, when it and when its panel is opened. */
function useFollowerCount(id: string, needed: boolean, info: boolean): void {
  const client = useClient();
  const online = useOnline();
  useEffect(() => {
    if (needed && online) client.channels.refresh(id).catch(() => {}); // the number that is known stays
  }, [client, id, needed, online, info]);
}

const longestTimerMs = 2 ** 31 - 1;

/** Renders again when a time has come. */
function useRenderAt(ms: number): void {
  const [, render] = useState(0);
  useEffect(() => {
    const wait = ms - Date.now();
    if (wait <= 0 || wait > longestTimerMs) return;
    const timer = setTimeout(() => render((n) => n + 1), wait);
    return () => clearTimeout(timer);
  }, [ms]);
}

function isDirect(c: ConversationView): boolean {
  return c.peer !== "0" && c.peer !== "";
}

/** Reads a channel, and cannot write in it. */
function isFollower(c: ConversationView): boolean {
  return c.channel && c.role === Role.MEMBER && c.leaveSeq === 0 && !c.dissolved;
}

/** Who is typing, or else whether they are here, or how many there are. */
function Subtitle({ c }: { c: ConversationView }) {
  const client = useClient();
  const t = useText();
  const now = useNow();
  const typing = client.typing(c.id);
  const presence = isDirect(c) && !isSaved(c) ? client.presence(c.peer) : undefined;
  const text = () => {
    if (typing.length > 0) return t("typing", { who: someOf(typing.map((u) => nameOf(client, u)), t), n: typing.length });
    if (c.notices) return t("systemNotices");
    if (c.channel) return t("followers", { n: c.memberCount });
    if (c.ticket) return client.helpDesks.ticket(c.id)?.subject ?? "";
    if (!isDirect(c)) return t("members", { n: c.memberCount });
    if (!presence) return "";
    const custom = customText(presence.custom, now);
    const seen = presence.status !== "offline" ? t(presence.status) : presence.lastActiveMs ? t("lastSeen", { when: ago(presence.lastActiveMs, getLocale(), t, now) }) : "";
    return [seen, custom].filter(Boolean).join(" · ");
  };
  return <p aria-live="polite" className={typing.length > 0 ? "is-typing" : undefined}>{text()}</p>;
}

/** Why one cannot write here, where that is known. */
function noteOf(client: Client, c: ConversationView, t: Translate): string {
  if (c.dissolved) return t("dissolvedNote");
  if (c.leaveSeq > 0) return t(c.ticket ? "ticketLeftNote" : "leftNote");
  if (c.ticket && c.mutedAll) return t("ticketEndedNote");
  if (c.mutedAll && c.role === Role.MEMBER) return t("onlyAdminsNote");
  if (c.mutedUntilMs > Date.now()) return t("mutedNote", { when: until(c.mutedUntilMs, getLocale()) });
  if (client.relations().get(c.peer)?.blocked) return t("blockedNote", { who: nameOf(client, c.peer) });
  return "";
}
