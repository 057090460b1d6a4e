import type { VideoStoryboard } from "@rialto-im/client";
import { useState, type CSSProperties, type PointerEvent, type ReactNode } from "react";
import { useFileUrl, usePreloaded } from "../fileUrl.js";
import { length } from "../format.js";
import { useText } from "../i18n.js";
import "./seekBar.css";
import type { Playback } from "./usePlayback.js";
import { tileAt } from "./storyboard.js";

interface Props {
  playback: Playback;
  /** In seconds: of the whole video, also of the part that cannot be played yet. */
  duration: number;
  storyboard: VideoStoryboard | undefined;
  onSeek: (to: number) => void;
  /** What is drawn in place of a bar, as the waveform of a sound. */
  children?: ReactNode;
}

/** Where it is: a slider, with the time and a small frame of the place that the pointer or the finger is at. */
export function SeekBar({ playback: { at, loadedTo }, duration, storyboard, onSeek, children }: Props) {
  const t = useText();
  const frames = useFileUrl(storyboard?.url ?? "");
  const [over, setOver] = useState<{ seconds: number; x: number; width: number }>();
  usePreloaded(frames, over !== undefined);
  const part = (seconds: number) => `${duration > 0 ? Math.min(100, (100 * seconds) / duration) : 0}%`;
  const move = (e: PointerEvent<HTMLElement>) => {
    const box = e.currentTarget.getBoundingClientRect();
    const x = Math.max(0, Math.min(box.width, e.clientX - box.left));
    setOver(box.width > 0 && duration > 0 ? { seconds: (x / box.width) * duration, x, width: box.width } : undefined);
  };
  return (
    <div className={children ? "player-seek drawn" : "player-seek"} style={{ "--played": part(at), "--loaded": part(loadedTo) } as CSSProperties} onPointerMove={move} onPointerLeave={() => setOver(undefined)} onPointerUp={(e) => e.pointerType === "touch" && setOver(undefined)}>
      {children}
      {over && <Preview storyboard={storyboard && { ...storyboard, url: frames.url }} {...over} />}
      <input type="range" min={0} max={duration || 1} step="any" value={Math.min(at, duration || 1)} aria-label={t("seek")} aria-valuetext={t("timeOf", { at: length(at * 1_000), of: length(duration * 1_000) })} disabled={duration === 0} data-testid="player-seek" onChange={(e) => onSeek(e.target.valueAsNumber)} />
    </div>
  );
}

function Preview({ storyboard, seconds, x, width }: { storyboard: VideoStoryboard | undefined; seconds: number; x: number; width: number }) {
  const tile = tileAt(storyboard, seconds);
  const half = (tile?.width ?? 60) / 2;
  return (
    <div className="player-preview" aria-hidden="true" style={{ insetInlineStart: Math.max(half, Math.min(width - half, x)) }} data-testid="player-preview">
      {tile && <i style={{ width: tile.width, height: tile.height, backgroundImage: `url(${JSON.stringify(tile.url)})`, backgroundPosition: `-${tile.x}px -${tile.y}px` }} />}
      <span>{length(seconds * 1_000)}</span>
    </div>
  );
}
