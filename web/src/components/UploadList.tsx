import { client, useUploads } from "../client.js";
import { errorText } from "../errors.js";
import { bytes } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { IconButton } from "../ui/IconButton.js";
import { CloseIcon, FileIcon } from "./icons.js";

/** The files on their way into a chat, with how far each has come. */
export function UploadList({ conversation }: { conversation: string }) {
  const t = useText();
  const mine = useUploads().filter((u) => u.conversation === conversation);
  if (mine.length === 0) return null;
  return (
    <ul className="uploads" data-testid="uploads">
      {mine.map((u) => (
        <li key={u.id} className={u.error ? "upload refused" : "upload"}>
          <FileIcon />
          <span>
            <b>{t(u.waiting ? "waitingUpload" : "uploading", { name: u.name })}</b>
            {!u.kept && <small>{t("notKept")}</small>}
            {u.error ? <small className="error" role="alert">{t("failed", { why: errorText(u.error) })}</small> : <progress value={u.part} max={1} aria-label={u.name} />}
          </span>
          <small>{bytes(u.file.size, getLocale())}</small>
          {u.error !== undefined && <button className="link" onClick={() => client.retryUpload(u.id)}>{t("retry")}</button>}
          <IconButton label={`${t("discard")} ${u.name}`} side="top" onClick={() => void client.cancelUpload(u.id)}><CloseIcon /></IconButton>
        </li>
      ))}
    </ul>
  );
}
