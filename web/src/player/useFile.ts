import { useEffect, useRef, useState, type RefObject } from "react";
import { afterEnd } from "./afterEnd.js";
import { positions } from "./positions.js";
import { resumeAt } from "./resume.js";
import type { PlayerSource } from "./source.js";

/** The attribute of an element whose end is being looked for: where it is means nothing then. */
const finding = "finding";

export const isFindingEnd = (el: HTMLMediaElement): boolean => el.dataset[finding] !== undefined;

/**
 * What one file needs besides its address: it begins where it was stopped, goes on where it was with a new address, and says when it cannot be played.
 * The length is known from elsewhere, as from the message that has the file.
 */
export function useFile(media: RefObject<HTMLMediaElement | null>, source: PlayerSource, lengthMs: number) {
  const upload = source.kind === "file" ? source.upload : undefined;
  const left = useRef<{ at: number; playing: boolean }>(undefined);
  const [failed, setFailed] = useState("");
  const wasPlaying = useRef(false);
  const search = useRef<() => boolean>(undefined);
  useEffect(() => {
    const el = media.current;
    if (!el || upload === undefined) return;
    const moved = () => !isFindingEnd(el) && el.readyState > 0 && positions.set(upload, el.currentTime);
    el.addEventListener("timeupdate", moved);
    return () => el.removeEventListener("timeupdate", moved);
  }, [media, upload]);
  if (source.kind === "hls") return { failure: undefined, retry: () => {}, events: {} };
  const { url, renew, checkEdge } = source;
  const retry = () => {
    renew();
    setFailed("");
    media.current?.load();
  };
  const start = () => ({ at: resumeAt(1_000 * positions.of(source.upload), lengthMs), playing: false });
  const stopSearch = () => {
    if (search.current?.()) left.current = { ...(left.current ?? start()), playing: true };
  };
  const stop = (el: HTMLMediaElement) => {
    if (isFindingEnd(el)) return; // it is not where it was played to
    if (left.current && el.currentTime === 0) return; // the new address fails, too
    left.current = { at: el.currentTime, playing: wasPlaying.current };
  };
  const goOn = (el: HTMLMediaElement) => {
    const { at, playing } = left.current ?? start();
    left.current = undefined;
    if (at > 0) el.currentTime = at;
    if (playing) void el.play().catch(() => {}); // the browser may want a click
    setFailed("");
  };
  const events = {
    onPlay: () => void (wasPlaying.current = true),
    onPause: () => void (wasPlaying.current = false),
    onError: () => {
      if (!media.current) return;
      stop(media.current);
      stopSearch();
      setFailed(url);
      renew();
    },
    onStalled: () => {
      if (!media.current) return;
      stop(media.current);
      checkEdge();
    },
    onLoadedMetadata: () => {
      const el = media.current;
      if (!el) return;
      stopSearch();
      if (el instanceof HTMLAudioElement) search.current = findEnd(el, () => goOn(el));
      else goOn(el);
    },
  };
  return { failure: failed !== "" && failed === url ? ("media" as const) : undefined, retry, events };
}

/**
 * A recording of a browser does not say how long it is, and cannot be sought before its end was. Of a sound that is little to load.
 * Returns what ends the search, if it still goes on, and tells whether the sound was to be played then.
 */
function findEnd(el: HTMLAudioElement, onFound: () => void): (() => boolean) | undefined {
  if (Number.isFinite(el.duration)) {
    onFound();
    return undefined;
  }
  const playing = !el.paused;
  el.dataset[finding] = "";
  el.pause();
  const end = () => {
    delete el.dataset[finding];
    el.removeEventListener("seeked", found);
    el.currentTime = 0;
  };
  const found = () => {
    end();
    onFound();
    if (playing) void el.play().catch(() => {});
  };
  el.addEventListener("seeked", found);
  el.currentTime = afterEnd;
  return () => {
    if (!isFindingEnd(el)) return false;
    end();
    return playing;
  };
}
