import type { UnfinishedUpload } from "@rialto-im/client";
import { useEffect, useState } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { bytes, roughly } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { useNow } from "../now.js";
import { confirm } from "../ui/Confirm.js";
import { videoPurpose } from "../videoUploads.js";
import { VideoIcon } from "./icons.js";
import { useVideoUploads } from "./useVideoUploads.js";
import "./video.css";
import { accepted } from "./VideoFile.js";

/** Uploads of videos that were interrupted, on this device or another one. Whoever has the file continues one. */
export function UnfinishedUploads({ onContinue }: { onContinue: (file: File, upload: string) => void }) {
  const t = useText();
  const { list, reload } = useUnfinishedUploads();
  if (list.length === 0) return null;
  return (
    <section className="unfinished-uploads" aria-label={t("unfinishedUploads")}>
      <h3>{t("unfinishedUploads")}</h3>
      <ul>{list.map((u) => <li key={u.upload}><Unfinished upload={u} onContinue={onContinue} onDiscarded={reload} /></li>)}</ul>
    </section>
  );
}

function Unfinished({ upload: { upload, name, size, stored, expiresMs }, onContinue, onDiscarded }: { upload: UnfinishedUpload; onContinue: (file: File, upload: string) => void; onDiscarded: () => void }) {
  const client = useClient();
  const t = useText();
  const l = getLocale();
  const now = useNow();
  const { run, error, setError } = useAction();
  const [done, total] = [Number(stored), Number(size)];
  const go = (file: File) => {
    if (file.size === total) onContinue(file, upload);
    else setError(t("errOtherFile"));
  };
  const discard = async () => {
    if (await confirm({ label: t("discardUpload"), question: t("sureDiscardUpload", { name }) })) await run(() => client.abortUpload(upload).finally(onDiscarded));
  };
  return (
    <div className="video-upload" data-testid="unfinished-upload">
      <VideoIcon />
      <span>
        <b><bdi>{name}</bdi></b>
        <progress value={done} max={total} aria-label={name} />
        <small>{t("uploadStored", { done: bytes(done, l), size: bytes(total, l), time: roughly(Math.max(0, Number(expiresMs) - now), t) })}</small>
        {error && <small className="error" role="alert">{error}</small>}
      </span>
      <label className="file-button">
        {t("continueUpload")}
        <input
          type="file"
          accept={accepted}
          aria-label={t("continueUploadOf", { name })}
          data-testid="continue-input"
          onChange={(e) => {
            const file = e.target.files?.[0];
            e.target.value = ""; // the same file can be chosen again
            if (file) go(file);
          }}
        />
      </label>
      <button type="button" className="danger" aria-label={t("discardUploadOf", { name })} onClick={() => void discard()}>{t("discard")}</button>
    </div>
  );
}

/** The unfinished uploads of videos, but for those that this page is sending. They are read again when one of these begins or ends, and when the page is shown again. */
function useUnfinishedUploads(): { list: readonly UnfinishedUpload[]; reload: () => void } {
  const client = useClient();
  const sending = useVideoUploads().flatMap((u) => (u.upload === undefined ? [] : [u.upload]));
  const [all, setAll] = useState<readonly UnfinishedUpload[]>([]);
  const [round, setRound] = useState(0);
  const reload = () => setRound((n) => n + 1);
  useEffect(() => {
    let isOver = false;
    client.unfinishedUploads(videoPurpose).then((list) => !isOver && setAll(list), () => {}); // without a connection, the list stays as it was
    return () => void (isOver = true);
  }, [client, round, sending.join()]);
  useEffect(() => {
    const shown = () => document.visibilityState === "visible" && reload();
    document.addEventListener("visibilitychange", shown);
    return () => document.removeEventListener("visibilitychange", shown);
  }, []);
  return { list: all.filter((u) => !sending.includes(u.upload)), reload };
}
