import { useEffect, useState, type KeyboardEvent } from "react";
import { useClient } from "../client.js";
import { when } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { nameOf, titleOf } from "../names.js";
import { Avatar, UserAvatar } from "./Avatar.js";
import { Composer } from "./Composer.js";
import { InfoPanel } from "./InfoPanel.js";
import { BackIcon, InfoIcon } from "./icons.js";
import { MessageList } from "./MessageList.js";
import { UploadList } from "./UploadList.js";

export function ChatPane({ id, onBack }: { id: string; onBack: () => void }) {
  const client = useClient();
  const t = useText();
  const [info, setInfo] = useState(false);
  const c = client.conversation(id);
  useEffect(() => {
    setInfo(false);
    void client.open(id);
  }, [client, id]);
  if (!c) return <main className="chat" />;
  const direct = c.peer !== "0" && c.peer !== "";
  const typing = client.typing(id);
  const presence = direct && client.connection === "online" ? client.presence(c.peer) : undefined;
  const name = (u: string) => nameOf(client, u);
  const subtitle =
    typing.length > 0
      ? t("typing", { who: typing.map(name).join(", ") })
      : !direct
        ? t("members", { n: c.memberCount })
        : presence?.online
          ? t("online")
          : presence?.lastActiveMs
            ? t("lastSeen", { when: when(presence.lastActiveMs, getLocale(), t) })
            : "";
  const note = c.dissolved ? t("dissolvedNote") : c.leaveSeq > 0 ? t("leftNote") : "";
  const key = (e: KeyboardEvent) => {
    if (e.key !== "Escape" || e.defaultPrevented || e.nativeEvent.isComposing || (e.target as Element).closest("dialog")) return;
    if (info) setInfo(false);
    else onBack();
  };
  return (
    <main className={info ? "chat with-info" : "chat"} aria-label={titleOf(client, c)} onKeyDown={key}>
      <header className="chat-head">
        <button className="icon back" aria-label={t("back")} onClick={onBack}><BackIcon /></button>
        {direct ? <UserAvatar user={c.peer} presence /> : <Avatar id={c.id} name={c.title} />}
        <div className="chat-title">
          <h2>{titleOf(client, c)}</h2>
          <p aria-live="polite">{subtitle}</p>
        </div>
        <button className="icon" aria-label={t("groupInfo")} title={t("groupInfo")} aria-expanded={info} onClick={() => setInfo(!info)}><InfoIcon /></button>
      </header>
      {c.announcement && <p className="announcement"><b>{t("announcement")}</b> {c.announcement}</p>}
      <MessageList key={id} c={c} />
      <UploadList conversation={id} />
      {note ? <p className="closed-note">{note}</p> : <Composer key={`c${id}`} c={c} />}
      {info && <InfoPanel c={c} onClose={() => setInfo(false)} />}
    </main>
  );
}
