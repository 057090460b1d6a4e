import { useState, type ReactNode } from "react";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { titleOf } from "../names.js";
import { canWrite } from "../roles.js";
import { Dialog } from "../ui/Dialog.js";
import { VirtualList } from "../ui/VirtualList.js";
import { GroupAvatar, UserAvatar } from "./Avatar.js";
import { ChatMark } from "./ChatMark.js";
import "./forward.css";

/** Chooses a chat in which one may write. children are options beside the list. */
export function ChatDialog({ title, error, onClose, onPick, children }: { title: string; error: string; onClose: () => void; onPick: (conversation: string) => void; children?: ReactNode }) {
  const client = useClient();
  const t = useText();
  const [words, setWords] = useState("");
  const chats = client.conversations().filter((o) => canWrite(o) && titleOf(o).toLowerCase().includes(words.trim().toLowerCase()));
  return (
    <Dialog title={title} onClose={onClose}>
      <input type="search" data-first placeholder={t("search")} aria-label={t("search")} value={words} onChange={(e) => setWords(e.target.value)} />
      {children}
      <div role="group" aria-label={t("chats")}>
        <VirtualList
          className="pick-chat"
          rows={chats}
          keyOf={(o) => o.id}
          render={(o, _, reached) => (
            <button tabIndex={reached ? 0 : -1} data-testid="pick-chat" onClick={() => onPick(o.id)}>
              {o.peer === "0" || o.peer === "" ? <GroupAvatar c={o} size={32} /> : <UserAvatar user={o.peer} size={32} />}
              <bdi className="name">{titleOf(o)}</bdi>
              <ChatMark c={o} />
            </button>
          )}
        />
      </div>
      {chats.length === 0 && <p className="empty" role="status">{t(words.trim() ? "noMatch" : "noChats")}</p>}
      {error && <p className="error" role="alert">{error}</p>}
    </Dialog>
  );
}
