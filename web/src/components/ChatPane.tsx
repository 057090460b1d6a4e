import { Role, type Client, type ConversationView } from "@rialto-im/client";
import { useEffect, useRef, useState, type DragEvent, type KeyboardEvent } from "react";
import { uploads, useClient } from "../client.js";
import { when } from "../format.js";
import { getLocale, useText, type Translate } from "../i18n.js";
import { nameOf, titleOf } from "../names.js";
import { Avatar, UserAvatar } from "./Avatar.js";
import { Composer } from "./Composer.js";
import { InfoPanel } from "./InfoPanel.js";
import { BackIcon, InfoIcon } from "./icons.js";
import { MessageList } from "./MessageList.js";
import { UploadList } from "./UploadList.js";

export function ChatPane({ id, onBack, onOpen }: { id: string; onBack: () => void; onOpen: (id: string) => void }) {
  const client = useClient();
  const t = useText();
  const [info, setInfo] = useState(false);
  const [over, setOver] = useState(false);
  const infoButton = useRef<HTMLButtonElement>(null);
  const c = client.conversation(id);
  useEffect(() => {
    setInfo(false);
    void client.open(id);
  }, [client, id]);
  const back = <button className="icon back" aria-label={t("back")} title={t("back")} onClick={onBack}><BackIcon /></button>;
  if (!c) return <main className="chat"><header className="chat-head">{back}<p className="muted">{t("loading")}</p></header></main>;
  const closeInfo = () => {
    setInfo(false);
    infoButton.current?.focus();
  };
  const key = (e: KeyboardEvent) => {
    if (e.key !== "Escape" || e.defaultPrevented || e.nativeEvent.isComposing || (e.target as Element).closest("dialog")) return;
    if (info) closeInfo();
    else onBack();
  };
  const note = noteOf(client, c, t);
  const drag = (e: DragEvent) => {
    if (note || !e.dataTransfer.types.includes("Files")) return;
    e.preventDefault();
    setOver(true);
  };
  const drop = (e: DragEvent) => {
    setOver(false);
    if (!note) for (const file of e.dataTransfer.files) uploads.add(id, file);
  };
  const dragLeft = (e: DragEvent) => !e.currentTarget.contains(e.relatedTarget as Node | null) && setOver(false);
  return (
    <main className={info ? "chat with-info" : "chat"} aria-label={titleOf(client, c)} onKeyDown={key} onDragOver={drag} onDragLeave={dragLeft} onDrop={drop}>
      <header className="chat-head">
        {back}
        {isDirect(c) ? <UserAvatar user={c.peer} presence /> : <Avatar id={c.id} name={c.title} />}
        <div className="chat-title">
          <h2><bdi>{titleOf(client, c)}</bdi></h2>
          <Subtitle c={c} />
        </div>
        <button className="icon" ref={infoButton} aria-label={t("groupInfo")} title={t("groupInfo")} aria-expanded={info} onClick={() => setInfo(!info)}><InfoIcon /></button>
      </header>
      {c.announcement && (
        <details className="announcement" key={c.announcement}>
          <summary title={t("showAll")}><b>{t("announcement")}</b> <span dir="auto">{c.announcement}</span></summary>
        </details>
      )}
      <MessageList key={id} c={c} />
      <UploadList conversation={id} />
      {over && <p className="drop">{t("dropHere")}</p>}
      {note ? <p className="closed-note">{note}</p> : <Composer key={`c${id}`} c={c} />}
      {info && <InfoPanel c={c} onClose={closeInfo} onOpen={onOpen} />}
    </main>
  );
}

function isDirect(c: ConversationView): boolean {
  return c.peer !== "0" && c.peer !== "";
}

/** Who is typing, or else whether they are here, or how many there are. */
function Subtitle({ c }: { c: ConversationView }) {
  const client = useClient();
  const t = useText();
  const typing = client.typing(c.id);
  const presence = isDirect(c) && client.connection === "online" ? client.presence(c.peer) : undefined;
  const text = () => {
    if (typing.length > 0) return t("typing", { who: typing.map((u) => nameOf(client, u)).join(", ") });
    if (!isDirect(c)) return t("members", { n: c.memberCount });
    if (presence?.online) return t("online");
    return presence?.lastActiveMs ? t("lastSeen", { when: when(presence.lastActiveMs, getLocale(), t) }) : "";
  };
  return <p aria-live="polite" className={typing.length > 0 ? "is-typing" : undefined}>{text()}</p>;
}

/** Why one cannot write here, where that is known. */
function noteOf(client: Client, c: ConversationView, t: Translate): string {
  if (c.dissolved) return t("dissolvedNote");
  if (c.leaveSeq > 0) return t("leftNote");
  if (c.mutedAll && c.role === Role.MEMBER) return t("onlyAdminsNote");
  if (client.relations().get(c.peer)?.blocked) return t("blockedNote", { who: nameOf(client, c.peer) });
  return "";
}
