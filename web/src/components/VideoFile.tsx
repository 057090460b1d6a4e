import { useState, type DragEvent } from "react";
import { videoUploads } from "../client.js";
import { errorText } from "../errors.js";
import { bytes, roughly } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { IconButton } from "../ui/IconButton.js";
import { leftMs, type VideoUpload } from "../videoUploads.js";
import { CloseIcon, PauseIcon, PlayIcon, VideoIcon } from "./icons.js";
import "./video.css";

/** Containers that browsers do not know have no type of their own. */
const accepted = "video/*,.mkv,.mov,.webm,.mp4,.m4v";
const isVideo = (file: File) => file.type.startsWith("video/") || /\.(mkv|mov|webm|mp4|m4v)$/i.test(file.name);

/** Chooses a video file, which can also be dropped here. */
export function VideoFile({ label, onFile }: { label: string; onFile: (file: File) => void }) {
  const t = useText();
  const [over, setOver] = useState(false);
  const hasFiles = (e: DragEvent) => [...e.dataTransfer.types].includes("Files");
  const drop = (e: DragEvent) => {
    setOver(false);
    const file = [...e.dataTransfer.files].find(isVideo);
    if (!file) return;
    e.preventDefault();
    onFile(file);
  };
  return (
    <label className={over ? "file-button video-file over" : "file-button video-file"} onDragOver={(e) => hasFiles(e) && (e.preventDefault(), setOver(true))} onDragLeave={() => setOver(false)} onDrop={drop}>
      <VideoIcon /> {over ? t("dropVideo") : label}
      <input
        type="file"
        accept={accepted}
        data-testid="video-input"
        onChange={(e) => {
          const file = e.target.files?.[0];
          e.target.value = ""; // the same file can be chosen again
          if (file) onFile(file);
        }}
      />
    </label>
  );
}

/** A video file on its way, with its speed and the time that is left. */
export function UploadingVideo({ upload: u }: { upload: VideoUpload }) {
  const t = useText();
  const l = getLocale();
  const left = leftMs(u);
  const sizes = { done: bytes(u.sent, l), size: bytes(u.size, l) };
  return (
    <div className="video-upload" data-testid="video-upload">
      <VideoIcon />
      <span>
        <b>{t(u.paused ? "pausedVideo" : "uploadingVideo", { name: u.name })}</b>
        {u.error !== undefined ? (
          <small className="error" role="alert">{t("videoUploadFailed", { why: errorText(u.error) })}</small>
        ) : (
          <>
            <progress value={u.sent} max={u.size || 1} aria-label={u.name} />
            <small>{left === undefined ? t("uploadDone", sizes) : t("uploadLeft", { ...sizes, speed: bytes(u.bytesPerSecond, l), time: roughly(left, t) })}</small>
          </>
        )}
      </span>
      {u.error !== undefined ? (
        <button type="button" className="link" onClick={() => videoUploads.resume(u.id)}>{t("retry")}</button>
      ) : u.paused ? (
        <IconButton label={t("resumeUploadOf", { name: u.name })} onClick={() => videoUploads.resume(u.id)}><PlayIcon /></IconButton>
      ) : (
        u.sent < u.size && <IconButton label={t("pauseUploadOf", { name: u.name })} onClick={() => videoUploads.pause(u.id)}><PauseIcon /></IconButton>
      )}
      <IconButton label={t("cancelUploadOf", { name: u.name })} onClick={() => videoUploads.remove(u.id)}><CloseIcon /></IconButton>
    </div>
  );
}
