import { useState, type DragEvent } from "react";
import { videoUploads } from "../client.js";
import { errorText } from "../errors.js";
import { bytes, roughly } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { IconButton } from "../ui/IconButton.js";
import { isRetriable, leftMs, type VideoUpload } from "../videoUploads.js";
import { CloseIcon, PauseIcon, PlayIcon, VideoIcon } from "./icons.js";
import "./video.css";

/** Containers that browsers do not know have no type of their own. */
export const accepted = "video/*,.mkv,.mov,.webm,.mp4,.m4v";
const isVideo = (file: File) => file.type.startsWith("video/") || /\.(mkv|mov|webm|mp4|m4v)$/i.test(file.name);

interface VideoFileProps {
  label: string;
  /** Several files can be chosen at once. */
  multiple?: boolean;
  /** Gets one file, or several. */
  onFiles: (files: readonly [File, ...File[]]) => void;
}

/** Chooses video files, which can also be dropped here. */
export function VideoFile({ label, multiple = false, onFiles }: VideoFileProps) {
  const t = useText();
  const [over, setOver] = useState(false);
  const hasFiles = (e: DragEvent) => [...e.dataTransfer.types].includes("Files");
  const drop = (e: DragEvent) => {
    setOver(false);
    const [first, ...others] = [...e.dataTransfer.files].filter(isVideo);
    if (!first) return;
    e.preventDefault();
    onFiles(multiple ? [first, ...others] : [first]);
  };
  return (
    <label className={over ? "file-button video-file over" : "file-button video-file"} onDragOver={(e) => hasFiles(e) && (e.preventDefault(), setOver(true))} onDragLeave={() => setOver(false)} onDrop={drop}>
      <VideoIcon /> {over ? t("dropVideo") : label}
      <input
        type="file"
        accept={accepted}
        multiple={multiple}
        data-testid="video-input"
        onChange={(e) => {
          const [first, ...others] = [...(e.target.files ?? [])];
          e.target.value = ""; // the same file can be chosen again
          if (first) onFiles([first, ...others]);
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
        <b>{t(u.paused ? "pausedVideo" : u.waiting ? "waitingVideo" : "uploadingVideo", { name: u.name })}</b>
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
        isRetriable(u.error) && <button type="button" className="link" onClick={() => videoUploads.resume(u.id)}>{t("retry")}</button>
      ) : u.paused ? (
        <IconButton label={t("resumeUploadOf", { name: u.name })} onClick={() => videoUploads.resume(u.id)}><PlayIcon /></IconButton>
      ) : (
        u.sent < u.size && <IconButton label={t("pauseUploadOf", { name: u.name })} onClick={() => videoUploads.pause(u.id)}><PauseIcon /></IconButton>
      )}
      <IconButton label={t("cancelUploadOf", { name: u.name })} onClick={() => videoUploads.cancel(u.id)}><CloseIcon /></IconButton>
    </div>
  );
}
