import type { ChatMessage, Media } from "@rialto-im/client";
import { useRef, useState } from "react";
import { useDownload } from "../download.js";
import { length } from "../format.js";
import { useText } from "../i18n.js";
import { IconButton } from "../ui/IconButton.js";
import { PauseIcon, PlayIcon } from "./icons.js";
import "./voice.css";

/** A voice message: its waveform, which is a slider to seek with. One plays at a time. */
export function Voice({ m, media }: { m: ChatMessage; media: Media }) {
  const t = useText();
  const { url, error, renew, checkEdge } = useDownload(m, media.upload);
  const audio = useRef<HTMLAudioElement>(null);
  /** Where it goes on with a new URL, after the last one has expired, or its edge does not answer. */
  const left = useRef<{ at: number; playing: boolean }>(undefined);
  const [playing, setPlaying] = useState(false);
  const [atMs, setAtMs] = useState(0);
  const totalMs = media.durationMs || 1;
  const failed = (wanted: boolean) => {
    left.current = { at: atMs / 1_000, playing: wanted };
    setPlaying(false);
    renew();
  };
  const loaded = (el: HTMLAudioElement) =>
    findEnd(el, () => {
      el.currentTime = left.current?.at ?? 0;
      if (left.current?.playing) void el.play().catch(() => {}); // the browser may want a click
      left.current = undefined;
    });
  const toggle = () => {
    const el = audio.current;
    if (!el) return;
    if (el.error) return failed(true);
    if (!el.paused) return el.pause();
    pauseOthers(el);
    void el.play().catch(() => setPlaying(false)); // paused again before it began
  };
  const seek = (ms: number) => {
    if (audio.current) audio.current.currentTime = ms / 1_000;
    setAtMs(ms);
  };
  return (
    <figure className="attachment voice" data-testid="voice">
      <IconButton label={t(playing ? "pause" : "play")} side="top" disabled={!url} onClick={toggle}>{playing ? <PauseIcon /> : <PlayIcon />}</IconButton>
      <span className="voice-wave">
        <Waveform samples={media.waveform} played={atMs / totalMs} />
        <input type="range" min={0} max={totalMs} step={100} value={Math.min(atMs, totalMs)} aria-label={t("seek")} aria-valuetext={length(atMs)} disabled={!url} onChange={(e) => seek(Number(e.target.value))} />
      </span>
      <time>{length(playing || atMs > 0 ? atMs : totalMs)}</time>
      {url && (
        <audio
          ref={audio}
          src={url}
          preload="metadata"
          onError={(e) => failed(!e.currentTarget.paused)}
          onStalled={(e) => {
            left.current = { at: atMs / 1_000, playing: !e.currentTarget.paused };
            void checkEdge();
          }}
          onLoadedMetadata={(e) => loaded(e.currentTarget)}
          onPlay={() => setPlaying(true)}
          onPause={() => setPlaying(false)}
          onEnded={() => setAtMs(0)}
          onTimeUpdate={(e) => !e.currentTarget.dataset["finding"] && setAtMs(e.currentTarget.currentTime * 1_000)}
        />
      )}
      {error && <p className="error">{error}</p>}
    </figure>
  );
}

/** A recording of a browser does not say how long it is, and cannot be sought before its end was. */
function findEnd(el: HTMLAudioElement, onFound: () => void): void {
  if (Number.isFinite(el.duration)) return onFound();
  el.dataset["finding"] = "yes";
  el.addEventListener("seeked", () => {
    delete el.dataset["finding"];
    onFound();
  }, { once: true });
  el.currentTime = 1e7;
}

/** Pauses what else plays in the page. */
export function pauseOthers(el: HTMLMediaElement): void {
  for (const other of document.querySelectorAll<HTMLMediaElement>("audio, video")) if (other !== el) other.pause();
}

/** Bars for the loudness; those that were played are darker. */
export function Waveform({ samples, played }: { samples: Uint8Array; played: number }) {
  const bars = samples.length > 0 ? [...samples] : Array.from({ length: 32 }, () => 40);
  const width = 4;
  return (
    <svg className="wave" viewBox={`0 0 ${bars.length * width} 32`} preserveAspectRatio="none" aria-hidden="true">
      {bars.map((v, i) => {
        const h = Math.max(2, (v / 255) * 30);
        return <rect key={i} x={i * width} y={16 - h / 2} width={width - 1.5} height={h} rx={1} className={i / bars.length < played ? "played" : undefined} />;
      })}
    </svg>
  );
}
