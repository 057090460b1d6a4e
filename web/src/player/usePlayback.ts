import { useCallback, useEffect, useState, type RefObject } from "react";
import { pauseOthers } from "../components/Voice.js";

/** What a video element does, as its controls show it. Times are in seconds. */
export interface Playback {
  readonly paused: boolean;
  readonly ended: boolean;
  /** It would play, but has nothing to play yet. */
  readonly waiting: boolean;
  readonly at: number;
  /** What is known of the end: of a video that grows, as far as it has grown. */
  readonly duration: number;
  /** Loaded from where it is to here. */
  readonly loadedTo: number;
  readonly volume: number;
  readonly muted: boolean;
  readonly speed: number;
}

const first: Playback = { paused: true, ended: false, waiting: false, at: 0, duration: 0, loadedTo: 0, volume: 1, muted: false, speed: 1 };

const events = ["play", "pause", "ended", "playing", "waiting", "timeupdate", "durationchange", "progress", "seeking", "seeked", "volumechange", "ratechange", "loadedmetadata", "emptied"] as const;

function playbackOf(el: HTMLVideoElement): Playback {
  const at = el.currentTime;
  const ranges = Array.from({ length: el.buffered.length }, (_, i) => [el.buffered.start(i), el.buffered.end(i)] as const);
  return {
    paused: el.paused,
    ended: el.ended,
    waiting: !el.paused && !el.ended && el.readyState < HTMLMediaElement.HAVE_FUTURE_DATA,
    at,
    duration: Number.isFinite(el.duration) ? el.duration : 0,
    loadedTo: ranges.find(([from, to]) => from <= at + 0.1 && at <= to)?.[1] ?? at,
    volume: el.volume,
    muted: el.muted,
    speed: el.playbackRate,
  };
}

/** What a video element does, and what makes it do that. One plays at a time. */
export function usePlayback(video: RefObject<HTMLVideoElement | null>) {
  const [playback, setPlayback] = useState(first);
  useEffect(() => {
    const el = video.current;
    if (!el) return;
    const look = () => setPlayback(playbackOf(el));
    const play = () => pauseOthers(el);
    for (const e of events) el.addEventListener(e, look);
    el.addEventListener("play", play);
    look();
    return () => {
      for (const e of events) el.removeEventListener(e, look);
      el.removeEventListener("play", play);
    };
  }, [video]);
  const toggle = useCallback(() => {
    const el = video.current;
    if (!el) return;
    if (el.paused) void el.play().catch(() => {}); // paused again before it began
    else el.pause();
  }, [video]);
  const seek = useCallback((to: number) => {
    const el = video.current;
    if (!el || !Number.isFinite(el.duration)) return;
    const end = el.seekable.length > 0 ? el.seekable.end(el.seekable.length - 1) : el.duration;
    el.currentTime = Math.max(0, Math.min(to, end));
  }, [video]);
  const setVolume = useCallback((volume: number) => {
    const el = video.current;
    if (!el) return;
    el.volume = Math.max(0, Math.min(1, volume));
    el.muted = el.volume === 0;
  }, [video]);
  const toggleMuted = useCallback(() => {
    const el = video.current;
    if (!el) return;
    el.muted = !el.muted;
    if (!el.muted && el.volume === 0) el.volume = 0.5;
  }, [video]);
  const setSpeed = useCallback((speed: number) => {
    if (video.current) video.current.playbackRate = speed;
  }, [video]);
  return { playback, toggle, seek, setVolume, toggleMuted, setSpeed };
}

export type PlaybackControl = ReturnType<typeof usePlayback>;
