import type { Speed } from "@rialto-im/client";
import { client, useUploads } from "../client.js";
import { errorText } from "../errors.js";
import { bytes, roughly } from "../format.js";
import { getLocale, useText, type Translate } from "../i18n.js";
import { IconButton } from "../ui/IconButton.js";
import { CloseIcon, FileIcon, PauseIcon, PlayIcon } from "./icons.js";

/** The files on their way into a chat, with how far each has come. */
export function UploadList({ conversation }: { conversation: string }) {
  const t = useText();
  const all = useUploads();
  const mine = all.filter((u) => u.conversation === conversation);
  const waiting = all.some((u) => u.waiting); // one is sent after the other, so all wait
  if (mine.length === 0) return null;
  return (
    <ul className="uploads" data-testid="uploads">
      {mine.map((u) => (
        <li key={u.id} className={u.error ? "upload refused" : "upload"}>
          <FileIcon />
          <span>
            <b>{t(u.paused ? "pausedUpload" : waiting && !u.error ? "waitingUpload" : "uploading", { name: u.name })}</b>
            {!u.kept && <small>{t("notKept")}</small>}
            {u.error ? <small className="error" role="alert">{t("failed", { why: errorText(u.error) })}</small> : <progress value={u.part} max={1} aria-label={u.name} />}
            {u.speed && <small data-testid="upload-speed">{speedText(u.speed, t)}</small>}
          </span>
          <small>{bytes(u.file.size, getLocale())}</small>
          {u.error !== undefined && <button className="link" onClick={() => client.retryUpload(u.id)}>{t("retry")}</button>}
          {u.error === undefined && (u.paused
            ? <IconButton label={`${t("resumeUpload")} ${u.name}`} side="top" onClick={() => void client.resumeUpload(u.id)}><PlayIcon /></IconButton>
            : <IconButton label={`${t("pauseUpload")} ${u.name}`} side="top" onClick={() => void client.pauseUpload(u.id)}><PauseIcon /></IconButton>)}
          <IconButton label={`${t("discard")} ${u.name}`} side="top" onClick={() => void client.cancelUpload(u.id)}><CloseIcon /></IconButton>
        </li>
      ))}
    </ul>
  );
}

/** How fast a file goes, and how long it will still take. */
function speedText({ bytesPerSecond, remainingMs }: Speed, t: Translate): string {
  const speed = t("uploadSpeed", { speed: bytes(bytesPerSecond, getLocale()) });
  return remainingMs === undefined ? speed : `${speed} · ${t("uploadRemaining", { time: roughly(Math.max(1_000, remainingMs), t) })}`;
}
