import type { VideoStoryboard } from "@rialto-im/client";
import { useEffect, useRef, useState, type CSSProperties, type KeyboardEvent, type MouseEvent, type RefObject } from "react";
import { client } from "../client.js";
import { useText } from "../i18n.js";
import { storage } from "../storage.js";
import { Controls } from "./Controls.js";
import { commandOf, speedAfter, type PlayerCommand } from "./keys.js";
import "./player.css";
import { Positions } from "./positions.js";
import type { PlayerSource } from "./source.js";
import { useEngine, type Engine } from "./useEngine.js";
import { useFullScreen } from "./useFullScreen.js";
import { usePlayback, type Playback, type PlaybackControl } from "./usePlayback.js";

const positions = new Positions(storage, () => client.me);

/** Controls that nobody uses hide after so long, while it plays. */
const idleMs = 2_500;
/** So often the place where it is played is stored. */
const storeEveryS = 5;

interface Props {
  source: PlayerSource;
  /** What is played, for those who do not see it. */
  title: string;
  poster?: string | undefined;
  /** Of the whole video, also of what cannot be played yet. */
  durationMs?: number | undefined;
  storyboard?: VideoStoryboard | undefined;
  /** Plays at once: it was pressed. */
  autoPlay?: boolean;
  /** The video whose place is remembered. */
  remember?: string | undefined;
  style?: CSSProperties;
}

/** Plays a video, with controls for the pointer, the finger and the keyboard. */
export default function Player({ source, title, poster, durationMs = 0, storyboard, autoPlay = false, remember, style }: Props) {
  const t = useText();
  const frame = useRef<HTMLDivElement>(null);
  const video = useRef<HTMLVideoElement>(null);
  const [startAt] = useState(() => (remember === undefined ? 0 : positions.get(remember)));
  const control = usePlayback(video);
  const { playback, toggle } = control;
  useRemembered(video, remember, playback, durationMs / 1_000); // before the engine, whose end empties the element
  const engine = useEngine(video, source, startAt);
  const full = useFullScreen(frame, video);
  const file = useFile(video, source);
  const { idle, used } = useIdle(!playback.paused);
  useEffect(() => {
    if (autoPlay) frame.current?.focus({ preventScroll: true });
  }, [autoPlay]);
  const pictureInPicture = document.pictureInPictureEnabled ? () => void togglePictureInPicture(video.current) : undefined;
  const duration = Math.max(playback.duration, durationMs / 1_000);
  const key = (e: KeyboardEvent<HTMLElement>) => {
    const command = commandOf(e, focusOf(e.target as Element));
    if (!command) return;
    e.preventDefault();
    e.stopPropagation(); // the list around it has keys of its own
    used();
    run(command, control, duration, { fullScreen: full.toggle, pictureInPicture: pictureInPicture ?? (() => {}) });
  };
  const press = (e: MouseEvent) => {
    const isTouch = (e.nativeEvent as PointerEvent).pointerType === "touch";
    if (!isTouch || !idle) toggle(); // the first touch shows the controls
    used();
  };
  const failure = engine.failure ?? file.failure;
  return (
    <div ref={frame} className={idle ? "player idle" : "player"} style={style} role="group" aria-label={t("playerOf", { title })} tabIndex={0} onKeyDown={key} onPointerMove={used} onFocus={used} onClick={(e) => e.stopPropagation()} data-testid="player">
      <video ref={video} src={source.kind === "file" ? source.url : undefined} poster={poster} playsInline autoPlay={autoPlay} preload="auto" {...file.events} onClick={press} onDoubleClick={full.toggle} data-testid="player-video" />
      {playback.waiting && !failure && <span className="player-waiting" role="status"><span className="sr-only">{t("loading")}</span></span>}
      {failure && <Failed failure={failure} onRetry={source.kind === "file" ? file.retry : engine.retry} />}
      <Controls control={control} engine={engine} renditions={source.kind === "hls" ? source.renditions : []} duration={duration} storyboard={storyboard} fullScreen={full.on} onFullScreen={full.toggle} onPictureInPicture={pictureInPicture} />
    </div>
  );
}

function Failed({ failure, onRetry }: { failure: NonNullable<Engine["failure"]>; onRetry: () => void }) {
  const t = useText();
  return (
    <div className="player-failed" role="alert">
      <p>{t(failure === "network" ? "playNetworkFailed" : "playMediaFailed")}</p>
      <button type="button" onClick={onRetry}>{t("retry")}</button>
    </div>
  );
}

function focusOf(e: Element): "button" | "choices" | "other" {
  return e.tagName === "BUTTON" ? "button" : e.tagName === "SELECT" ? "choices" : "other";
}

function run(c: PlayerCommand, { playback, toggle, seek, setVolume, toggleMuted, setSpeed }: PlaybackControl, duration: number, other: { fullScreen: () => void; pictureInPicture: () => void }): void {
  switch (c.kind) {
    case "toggle":
      return toggle();
    case "seekBy":
      return seek(playback.at + c.seconds);
    case "seekTo":
      return seek(duration * c.part);
    case "volumeBy":
      return setVolume((playback.muted ? 0 : playback.volume) + c.change);
    case "speedBy":
      return setSpeed(speedAfter(playback.speed, c.steps));
    case "mute":
      return toggleMuted();
    case "fullscreen":
      return other.fullScreen();
    default:
      return other.pictureInPicture();
  }
}

async function togglePictureInPicture(el: HTMLVideoElement | null): Promise<void> {
  try {
    if (document.pictureInPictureElement) await document.exitPictureInPicture();
    else await el?.requestPictureInPicture();
  } catch {
    // The browser refuses before the video is loaded.
  }
}

/** What one file needs besides its address: it goes on where it was with a new one, and says when it cannot. */
function useFile(video: RefObject<HTMLVideoElement | null>, source: PlayerSource) {
  const left = useRef<{ at: number; playing: boolean }>(undefined);
  const [failed, setFailed] = useState("");
  const wasPlaying = useRef(false);
  if (source.kind === "hls") return { failure: undefined, retry: () => {}, events: {} };
  const { url, renew } = source;
  const again = () => {
    renew();
    setFailed("");
    video.current?.load();
  };
  const events = {
    onPlay: () => void (wasPlaying.current = true),
    onPause: () => void (wasPlaying.current = false),
    onError: () => {
      if (!video.current) return;
      left.current = { at: video.current.currentTime, playing: wasPlaying.current };
      setFailed(url);
      renew();
    },
    onLoadedMetadata: () => {
      const el = video.current;
      if (el && left.current) {
        el.currentTime = left.current.at;
        if (left.current.playing) void el.play().catch(() => {}); // the browser may want a click
      }
      left.current = undefined;
      setFailed("");
    },
  };
  return { failure: failed === url ? ("media" as const) : undefined, retry: again, events };
}

/** Whether the controls hide, and what shows them. */
function useIdle(playing: boolean): { idle: boolean; used: () => void } {
  const [quiet, setQuiet] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const used = () => {
    setQuiet(false);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setQuiet(true), idleMs);
  };
  useEffect(() => {
    if (playing) used();
    return () => clearTimeout(timer.current);
  }, [playing]);
  return { idle: playing && quiet, used };
}

/** Remembers the place of a video: while it plays, where it pauses, and when it is left. */
function useRemembered(video: RefObject<HTMLVideoElement | null>, id: string | undefined, { at, paused }: Playback, whole: number): void {
  const slot = paused ? -1 : Math.floor(at / storeEveryS);
  useEffect(() => {
    const el = video.current;
    const store = () => id !== undefined && el && Number.isFinite(el.duration) && el.currentTime > 0 && positions.set(id, el.currentTime, Math.max(whole, el.duration));
    store();
    addEventListener("pagehide", store);
    return () => {
      removeEventListener("pagehide", store);
      store();
    };
  }, [video, id, slot, whole]);
}
