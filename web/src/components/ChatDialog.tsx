import { useState, type ReactNode } from "react";
import { useClient } from "../client.js";
import { distinctions } from "../equalTitles.js";
import { useText } from "../i18n.js";
import { nameOf, titleOf } from "../names.js";
import { canWrite } from "../roles.js";
import { Dialog } from "../ui/Dialog.js";
import { VirtualList } from "../ui/VirtualList.js";
import { GroupAvatar, UserAvatar } from "./Avatar.js";
import { ChatMark } from "./ChatMark.js";
import "./forward.css";

/** Chooses a chat in which one may write, or a friend, with whom one begins. onPick gets what opens it. children are options beside the list. */
export function ChatDialog({ title, error, onClose, onPick, children }: { title: string; error: string; onClose: () => void; onPick: (open: () => Promise<string>) => void; children?: ReactNode }) {
  const client = useClient();
  const t = useText();
  const [words, setWords] = useState("");
  const matches = (name: string) => name.toLowerCase().includes(words.trim().toLowerCase());
  const all = client.conversations();
  const peers = new Set(all.map((o) => o.peer));
  const chats = all.filter((o) => canWrite(o) && matches(titleOf(o))).map((o) => ({ key: o.id, chat: o, friend: o.peer }));
  const friends = [...client.relations().values()].filter((r) => r.friend && !r.blocked && !peers.has(r.user) && matches(nameOf(client, r.user))).map((r) => ({ key: `friend ${r.user}`, chat: undefined, friend: r.user }));
  const rows = [...chats, ...friends];
  const apart = distinctions(chats.filter((o) => o.chat.peer === "0" || o.chat.peer === "").map(({ chat }) => ({ id: chat.id, title: titleOf(chat), memberCount: chat.memberCount })), (n) => t("members", { n }));
  return (
    <Dialog title={title} onClose={onClose}>
      <input type="search" data-first placeholder={t("search")} aria-label={t("search")} value={words} onChange={(e) => setWords(e.target.value)} />
      {children}
      <div role="group" aria-label={t("chats")}>
        <VirtualList
          className="pick-chat"
          rows={rows}
          keyOf={(r) => r.key}
          render={({ chat, friend }, _, reached) => (
            <button tabIndex={reached ? 0 : -1} data-testid="pick-chat" onClick={() => onPick(async () => (chat ?? (await client.openDirect(friend))).id)}>
              {chat && (friend === "0" || friend === "") ? <GroupAvatar c={chat} size={32} /> : <UserAvatar user={friend} size={32} />}
              <bdi className="name">{chat ? titleOf(chat) : nameOf(client, friend)}</bdi>
              {chat && apart.has(chat.id) && <small className="muted">{apart.get(chat.id)}</small>}
              {chat && <ChatMark c={chat} />}
            </button>
          )}
        />
      </div>
      {rows.length === 0 && <p className="empty" role="status">{t(words.trim() ? "noMatch" : "noChats")}</p>}
      {error && <p className="error" role="alert">{error}</p>}
    </Dialog>
  );
}
