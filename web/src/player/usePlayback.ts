import { useCallback, useEffect, useState, type RefObject } from "react";
import { pauseOthers } from "./pauseOthers.js";
import { isFindingEnd } from "./useFile.js";

/** What an element does that plays, as its controls show it. Times are in seconds. */
export interface Playback {
  readonly paused: boolean;
  readonly ended: boolean;
  /** It would play, but has nothing to play yet. */
  readonly waiting: boolean;
  readonly at: number;
  /** What is known of the end: of a video that grows, as far as it has grown; of a recording that does not say how long it is, as far as it is loaded. */
  readonly duration: number;
  /** Loaded from where it is to here. */
  readonly loadedTo: number;
  readonly volume: number;
  readonly muted: boolean;
  readonly speed: number;
}

const first: Playback = { paused: true, ended: false, waiting: false, at: 0, duration: 0, loadedTo: 0, volume: 1, muted: false, speed: 1 };

const events = ["play", "pause", "ended", "playing", "waiting", "timeupdate", "durationchange", "progress", "seeking", "seeked", "volumechange", "ratechange", "loadedmetadata", "emptied"] as const;

function playbackOf(el: HTMLMediaElement): Playback {
  const at = el.currentTime;
  const ranges = Array.from({ length: el.buffered.length }, (_, i) => [el.buffered.start(i), el.buffered.end(i)] as const);
  return {
    paused: el.paused,
    ended: el.ended,
    waiting: !el.paused && !el.ended && el.readyState < HTMLMediaElement.HAVE_FUTURE_DATA,
    at,
    duration: Number.isFinite(el.duration) ? el.duration : (ranges.at(-1)?.[1] ?? 0),
    loadedTo: ranges.find(([from, to]) => from <= at + 0.1 && at <= to)?.[1] ?? at,
    volume: el.volume,
    muted: el.muted,
    speed: el.playbackRate,
  };
}

/** What an element does that plays, and what makes it do that. One plays at a time. */
export function usePlayback(media: RefObject<HTMLMediaElement | null>) {
  const [playback, setPlayback] = useState(first);
  useEffect(() => {
    const el = media.current;
    if (!el) return;
    const look = () => !isFindingEnd(el) && setPlayback(playbackOf(el));
    const play = () => pauseOthers(el);
    for (const e of events) el.addEventListener(e, look);
    el.addEventListener("play", play);
    look();
    return () => {
      for (const e of events) el.removeEventListener(e, look);
      el.removeEventListener("play", play);
    };
  }, [media]);
  const toggle = useCallback(() => {
    const el = media.current;
    if (!el) return;
    if (el.paused) void el.play().catch(() => {}); // paused again before it began
    else el.pause();
  }, [media]);
  const seek = useCallback((to: number) => {
    const el = media.current;
    if (!el || Number.isNaN(el.duration)) return; // nothing is loaded yet; Infinity: the file does not say, and can be sought
    const end = el.seekable.length > 0 ? el.seekable.end(el.seekable.length - 1) : el.duration;
    el.currentTime = Math.max(0, Math.min(to, end));
  }, [media]);
  const setVolume = useCallback((volume: number) => {
    const el = media.current;
    if (!el) return;
    el.volume = Math.max(0, Math.min(1, volume));
    el.muted = el.volume === 0;
  }, [media]);
  const toggleMuted = useCallback(() => {
    const el = media.current;
    if (!el) return;
    el.muted = !el.muted;
    if (!el.muted && el.volume === 0) el.volume = 0.5;
  }, [media]);
  const setSpeed = useCallback((speed: number) => {
    const el = media.current;
    if (el) el.playbackRate = el.defaultPlaybackRate = speed; // the latter is that of the next address
  }, [media]);
  return { playback, toggle, seek, setVolume, toggleMuted, setSpeed };
}

export type PlaybackControl = ReturnType<typeof usePlayback>;
