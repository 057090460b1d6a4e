import { Role, type ConversationView } from "@rialto-im/client";
import { useEffect, useState } from "react";
import { useAction } from "../action.js";
import { useClient, useOnline } from "../client.js";
import { useText } from "../i18n.js";
import { titleOf } from "../names.js";
import { IconButton } from "../ui/IconButton.js";
import { Composer } from "./Composer.js";
import { EditMessage } from "./EditMessage.js";
import { ForwardActions } from "./ForwardActions.js";
import { BellIcon, BellOffIcon, CloseIcon } from "./icons.js";
import { answeredBy, type Acting } from "./MessageMenu.js";
import { MessageList } from "./MessageList.js";
import { Quote } from "./Quote.js";
import { SendFiles } from "./SendFiles.js";
import "./thread.css";
import { UploadList } from "./UploadList.js";
import { useFiles } from "./useFiles.js";

/** The replies under a message, beside its chat; on a phone, in its place. note says why one cannot write. */
export function ThreadPanel({ c, parent, seq, note, onClose }: { c: ConversationView; parent: ConversationView; seq: number | undefined; note: string; onClose: () => void }) {
  const client = useClient();
  const online = useOnline();
  const t = useText();
  const { run, error } = useAction();
  const files = useFiles(c.id);
  const [acting, setActing] = useState<Acting>();
  const done = () => setActing(undefined);
  useEffect(() => {
    if (online) client.loadThread(c.id).catch(() => {}); // what was said while one did not follow
  }, [client, c.id, online]);
  const follows = c.role !== Role.UNSPECIFIED;
  return (
    <aside className="thread" aria-label={t("thread")} data-testid="thread" {...files.dropZone(note !== "")}>
      <header>
        <div>
          <h2>{t("thread")}</h2>
          <p className="muted"><bdi>{titleOf(parent)}</bdi></p>
        </div>
        <IconButton label={t(follows ? "unfollowThread" : "followThread")} aria-pressed={follows} onClick={() => void run(() => client.followThread(c.id, !follows))}>{follows ? <BellIcon /> : <BellOffIcon />}</IconButton>
        <IconButton label={t("close")} onClick={onClose} autoFocus><CloseIcon /></IconButton>
      </header>
      {error && <p className="error" role="alert">{error}</p>}
      <Quote conversation={c.parent} seq={c.rootSeq} />
      <ForwardActions c={c} onAct={setActing}><MessageList c={c} seq={seq} /></ForwardActions>
      <UploadList conversation={c.id} />
      {note ? <p className="closed-note">{note}</p> : acting?.kind === "edit" ? <EditMessage key={acting.seq} c={c} seq={acting.seq} text={acting.text} onDone={done} /> : <Composer c={c} replyTo={answeredBy(acting)} onReplied={done} onFiles={files.choose} />}
      {files.over && <p className="drop">{t("dropHere")}</p>}
      {files.files.length > 0 && <SendFiles conversation={c.id} files={files.files} onClose={files.clear} />}
    </aside>
  );
}
