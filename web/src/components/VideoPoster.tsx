import type { CSSProperties } from "react";
import type { Download } from "../download.js";
import type { FileUrl } from "../fileUrl.js";
import { length } from "../format.js";
import { useText } from "../i18n.js";
import { FileImage } from "./FileImage.js";
import { PlayIcon, VideoIcon } from "./icons.js";
import "./video.css";

interface Props {
  /** Its picture; without a URL there is none. */
  of: FileUrl;
  /** The video itself, whose first frame stands in for a picture. */
  first?: Download | undefined;
  durationMs: number;
  style?: CSSProperties;
  /** How far the user has watched it. */
  positionMs?: number;
  /** Undefined: it cannot be played yet. */
  onPlay: (() => void) | undefined;
  onError?: (() => void) | undefined;
}

/** What stands for a video until it is played: a frame of it, with its length. */
export function VideoPoster({ of, first, durationMs, style, positionMs = 0, onPlay, onError }: Props) {
  const t = useText();
  const atMs = Math.min(positionMs, durationMs);
  const label = durationMs <= 0 ? t("playVideo") : t(atMs > 0 ? "playVideoWatched" : "playVideoOf", { length: length(durationMs), at: length(atMs) });
  const picture = (
    <>
      {of.url ? <FileImage of={of} alt="" loading="lazy" onError={onError} /> : first?.url ? <video src={first.url} preload="metadata" muted playsInline tabIndex={-1} aria-hidden="true" onError={first.renew} /> : <VideoIcon />}
      {durationMs > 0 && <time>{length(durationMs)}</time>}
      {atMs > 0 && <i className="video-watched" style={{ "--watched": `${(100 * atMs) / durationMs}%` } as CSSProperties} aria-hidden="true" data-testid="video-watched" />}
    </>
  );
  if (!onPlay) return <span className="video-poster" style={style} data-testid="video-poster">{picture}</span>;
  return (
    <button type="button" className="video-poster" style={style} aria-label={label} onClick={onPlay} data-testid="video-poster">
      {picture}
      <i className="video-play" aria-hidden="true"><PlayIcon /></i>
    </button>
  );
}

/** The space that a video takes: its own shape, within what is usual. */
export function shapeOf(width: number, height: number): CSSProperties {
  return width > 0 && height > 0 ? { aspectRatio: `${width} / ${height}` } : {};
}
