import { useEffect, useRef, useState, type RefObject } from "react";
import type { HlsEngine } from "./hlsEngine.js";
import type { Level } from "./renditions.js";
import type { PlayerSource } from "./source.js";

export type PlayerFailure = "network" | "media";

export interface Engine {
  /** The sizes that can be chosen; empty: there is no choice. */
  readonly levels: readonly Level[];
  /** The size that is shown. */
  readonly level: Level | undefined;
  /** The height that was chosen; undefined: it follows the network and the screen. */
  readonly chosen: number | undefined;
  readonly choose: (height: number | undefined) => void;
  readonly failure: PlayerFailure | undefined;
  /** Begins again after a failure. */
  readonly retry: () => void;
}

/** New addresses are asked for no more often than this. */
const leastRenewalMs = 5_000;

/** Makes a video element play a source from a time on. Where an address has expired, it goes on with a new one. */
export function useEngine(video: RefObject<HTMLVideoElement | null>, source: PlayerSource, startAt: number): Engine {
  const [levels, setLevels] = useState<readonly Level[]>([]);
  const [level, setLevel] = useState<Level>();
  const [chosen, setChosen] = useState<number>();
  const [failure, setFailure] = useState<PlayerFailure>();
  const [tries, setTries] = useState(0);
  const engine = useRef<HlsEngine>(undefined);
  const latest = useRef(source);
  latest.current = source;
  const renewedMs = useRef(0);
  const renew = () => {
    if (Date.now() - renewedMs.current < leastRenewalMs) return;
    renewedMs.current = Date.now();
    latest.current.renew();
  };
  const goOnAt = useRef(startAt);
  useEffect(() => {
    const el = video.current;
    if (!el || source.kind !== "hls") return;
    let current = true;
    const failed = (why: PlayerFailure) => current && setFailure(why);
    import("./hlsEngine.js").then(({ HlsEngine, isSupported }) => {
      if (!current) return;
      const { url } = latest.current;
      if (isSupported()) engine.current = new HlsEngine(el, url, goOnAt.current, { onLevels: setLevels, onLevel: setLevel, onExpired: renew, onUnreachable: (at, tried) => (latest.current.kind === "hls" ? latest.current.replace(at, tried) : undefined), onFailed: failed });
      else if (el.canPlayType("application/vnd.apple.mpegurl")) playByItself(el, url, goOnAt.current);
      else failed("media");
    }, () => failed("network"));
    return () => {
      current = false;
      goOnAt.current = el.currentTime || goOnAt.current;
      engine.current?.destroy();
      engine.current = undefined;
    };
  }, [video, source.kind, tries]);
  useGoingOn(video, source, engine, levels.length, failure === undefined);
  const choose = (height: number | undefined) => {
    setChosen(height);
    engine.current?.choose(height);
  };
  const retry = () => {
    setFailure(undefined);
    latest.current.renew();
    setTries((n) => n + 1);
  };
  return { levels, level, chosen, choose, failure, retry };
}

/** Goes on with new addresses, and with the sizes that came meanwhile. */
function useGoingOn(video: RefObject<HTMLVideoElement | null>, source: PlayerSource, engine: RefObject<HlsEngine | undefined>, levels: number, works: boolean): void {
  const { url } = source;
  const renditions = source.kind === "hls" ? source.renditions : undefined;
  const complete = renditions?.filter((r) => r.complete).length ?? 0;
  const isComplete = source.kind === "hls" && source.complete;
  useEffect(() => {
    if (renditions) engine.current?.setRenditions(renditions);
  }, [engine, renditions, levels]);
  useEffect(() => {
    if (isComplete && works && levels > 0 && levels < complete) engine.current?.reload(url);
  }, [engine, isComplete, works, levels, complete]);
  const before = useRef(url);
  useEffect(() => {
    const el = video.current;
    if (before.current === url) return;
    before.current = url;
    if (engine.current) engine.current.renew(url);
    else if (el && source.kind === "hls" && el.error) playByItself(el, url, el.currentTime);
  }, [video, engine, url, source.kind]);
}

/** Lets the browser play an address from a time on. */
function playByItself(el: HTMLVideoElement, url: string, at: number): void {
  el.addEventListener("loadedmetadata", () => (el.currentTime = at), { once: true });
  el.src = url;
}
