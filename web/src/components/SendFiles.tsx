import type { FilePart } from "@rialto-im/client";
import { useState, type FormEvent } from "react";
import { useAction } from "../action.js";
import { client, useOnline } from "../client.js";
import { bytes } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { localTime } from "../localTime.js";
import { useObjectUrl } from "../objectUrl.js";
import { posterOf } from "../poster.js";
import { Dialog } from "../ui/Dialog.js";
import { IconButton } from "../ui/IconButton.js";
import { CloseIcon, FileIcon } from "./icons.js";
import "./sendFiles.css";

const previewed = /^image\/(png|jpeg|gif|webp)$/;
const plays = /^video\/(mp4|webm)$/;
const mostInAlbum = 10;

/** When files are sent, as a local time, and the id of the client, which stays the same for a second try. */
interface Later {
  id: string;
  at: string;
}

const hour = 3_600_000;

/** Sends files, now or later, with posters for videos: as one album, or each as a message, of which the first has the caption. */
async function sendAll(conversation: string, files: readonly File[], caption: string, album: boolean, later: Later | undefined): Promise<void> {
  const parts: FilePart[] = await Promise.all(files.map(async (file) => ({ file, name: file.name, ...(plays.test(file.type) ? await posterOf(file) : {}) })));
  if (later) {
    const messages = album ? [parts] : parts.map((p) => [p]);
    for (const [i, message] of messages.entries()) await client.scheduleFiles(conversation, `${later.id}-${i}`, message, i === 0 ? caption : "", new Date(later.at).getTime() + i);
    return;
  }
  if (album) return client.sendAlbum(conversation, parts, caption);
  await Promise.all(parts.map(({ file, name, ...about }, i) => client.sendFile(conversation, file, name, i === 0 ? caption : "", about)));
}

/** Shows the files that were chosen for a chat, and sends them with a caption. The caption is that of the first. */
export function SendFiles({ conversation, files, onClose, onScheduled }: { conversation: string; files: readonly File[]; onClose: () => void; onScheduled?: () => void }) {
  const t = useText();
  const { run, busy, error } = useAction();
  const [chosen, setChosen] = useState(files);
  const [caption, setCaption] = useState("");
  const [together, setTogether] = useState(true);
  const [later, setLater] = useState<Later>();
  const online = useOnline();
  const isAlbum = chosen.length > 1 && chosen.length <= mostInAlbum && chosen.every((f) => previewed.test(f.type) || plays.test(f.type));
  const send = (e: FormEvent) => {
    e.preventDefault();
    void run(async () => {
      await sendAll(conversation, chosen, caption.trim(), isAlbum && together, later);
      onClose();
      if (later) onScheduled?.();
    });
  };
  const leaveOut = (file: File) => {
    const rest = chosen.filter((f) => f !== file);
    if (rest.length === 0) onClose();
    else setChosen(rest);
  };
  return (
    <Dialog title={t("sendFiles", { n: chosen.length })} onClose={onClose}>
      <form className="stack" onSubmit={send}>
        <ul className="send-files" data-testid="send-files">
          {chosen.map((file, i) => (
            <li key={i}>
              <Preview file={file} />
              <span><b><bdi>{file.name}</bdi></b><small>{bytes(file.size, getLocale())}</small></span>
              {chosen.length > 1 && <IconButton label={`${t("discard")} ${file.name}`} onClick={() => leaveOut(file)}><CloseIcon /></IconButton>}
            </li>
          ))}
        </ul>
        {isAlbum && <label className="check"><input type="checkbox" checked={together} onChange={(e) => setTogether(e.target.checked)} /> {t("asAlbum")}</label>}
        <label>{t("caption")}<input name="caption" dir="auto" maxLength={1000} data-first value={caption} onChange={(e) => setCaption(e.target.value)} /></label>
        <label className="check"><input type="checkbox" checked={later !== undefined} onChange={(e) => setLater(e.target.checked ? { id: crypto.randomUUID(), at: localTime(Date.now() + hour) } : undefined)} /> {t("schedule")}</label>
        {later && <label>{t("sendAt")}<input type="datetime-local" required min={localTime(Date.now())} value={later.at} onChange={(e) => setLater({ ...later, at: e.target.value })} /></label>}
        {error && <p className="error" role="alert">{error}</p>}
        <div className="buttons end">
          <button type="button" onClick={onClose}>{t("cancel")}</button>
          <button className="primary small" disabled={busy || (later !== undefined && !online)}>{t(later ? "schedule" : "send")}</button>
        </div>
      </form>
    </Dialog>
  );
}

function Preview({ file }: { file: File }) {
  const url = useObjectUrl(previewed.test(file.type) ? file : undefined);
  const [damaged, setDamaged] = useState(false);
  return url && !damaged ? <img src={url} alt="" onError={() => setDamaged(true)} /> : <FileIcon />;
}
