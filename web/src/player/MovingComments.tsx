import type { Comment } from "@rialto-im/client";
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type RefObject } from "react";
import { CloseIcon } from "../components/icons.js";
import { useText } from "../i18n.js";
import { leftOf, placeInLanes, shownMs, type Moving, type Stage } from "./lanes.js";
import { useReducedMotion } from "./useReducedMotion.js";

/** In pixels, as in player.css. */
const laneHeight = 28;
const controlsHeight = 96;
/** Comments are in the upper part of the picture. */
const upperPart = 0.6;
/** The time that is known may be so much behind that of the picture. */
const slackMs = 300;
/** So many are on the picture at most. */
const mostShown = 60;

interface Props {
  video: RefObject<HTMLVideoElement | null>;
  list: readonly Comment[];
  atS: number;
  paused: boolean;
  me: string;
  /** The user is the author of the video, and may delete all comments. */
  isOwner: boolean;
  onRemove: (comment: string) => void;
}

/** Comments that move over the picture, from right to left, each when the video comes to its time. They take no clicks, but while it is paused one's own can be deleted. */
export function MovingComments({ video, list, atS, paused, me, isOwner, onRemove }: Props) {
  const t = useText();
  const frame = useRef<HTMLDivElement>(null);
  const still = useReducedMotion();
  const size = useSize(frame);
  const stage: Stage = useMemo(() => ({ width: size.width, lanes: Math.max(1, Math.floor(((size.height - controlsHeight) * upperPart) / laneHeight)), still }), [size, still]);
  const widthOf = useWidths(frame);
  const all = useMemo(() => list.map((c): Moving & { of: Comment } => ({ id: c.id, timeMs: c.timeMs, width: widthOf(c.content?.text ?? ""), always: c.author === me, of: c })), [list, widthOf, me, size]); // nothing can be measured before there is a size
  const lanes = useMemo(() => placeInLanes(all, stage), [all, stage]);
  const atMs = atS * 1_000;
  const shown = size.width === 0 ? [] : all.filter((m) => m.timeMs <= atMs + slackMs && atMs < m.timeMs + shownMs(stage) && lanes.has(m.id)).slice(-mostShown);
  const elements = useRef(new Map<string, HTMLElement>());
  const latest = useRef({ shown, stage });
  latest.current = { shown, stage };
  const place = () => {
    const now = (video.current?.currentTime ?? 0) * 1_000;
    for (const m of latest.current.shown) elements.current.get(m.id)?.style.setProperty("transform", `translateX(${leftOf(m, now, latest.current.stage)}px)`);
  };
  useLayoutEffect(place);
  useEffect(() => {
    if (paused || still) return;
    let next = requestAnimationFrame(function move() {
      place();
      next = requestAnimationFrame(move);
    });
    return () => cancelAnimationFrame(next);
  }, [paused, still]);
  return (
    <div ref={frame} className={paused ? "player-comments paused" : "player-comments"} dir="ltr" data-testid="player-comments">
      {shown.map((m) => (
        <span key={m.id} ref={(el) => void (el ? elements.current.set(m.id, el) : elements.current.delete(m.id))} className={m.of.author === me ? "own" : undefined} style={{ top: (lanes.get(m.id) ?? 0) * laneHeight }} data-testid="player-comment">
          <bdi>{m.of.content?.text}</bdi>
          {paused && (isOwner || m.of.author === me) && <button type="button" aria-label={t("removeTimedComment", { text: m.of.content?.text ?? "" })} onClick={() => onRemove(m.id)}><CloseIcon /></button>}
        </span>
      ))}
    </div>
  );
}

/** The size of an element, as it changes. */
function useSize(of: RefObject<HTMLElement | null>): { width: number; height: number } {
  const [size, setSize] = useState({ width: 0, height: 0 });
  useEffect(() => {
    const el = of.current;
    if (!el) return;
    const observer = new ResizeObserver(() => setSize({ width: el.clientWidth, height: el.clientHeight }));
    observer.observe(el);
    return () => observer.disconnect();
  }, [of]);
  return size;
}

/** Measures how wide texts are in the font of an element, before they are shown. */
function useWidths(of: RefObject<HTMLElement | null>): (text: string) => number {
  const known = useRef(new Map<string, number>());
  const context = useRef<CanvasRenderingContext2D | null>(null);
  return useMemo(() => (text: string) => {
    const found = known.current.get(text);
    if (found !== undefined || !of.current) return found ?? 0;
    context.current ??= document.createElement("canvas").getContext("2d");
    const { fontWeight, fontSize, fontFamily } = getComputedStyle(of.current);
    if (context.current) context.current.font = `${fontWeight} ${fontSize} ${fontFamily}`;
    const width = Math.ceil(context.current?.measureText(text).width ?? text.length * 18) + 8;
    known.current.set(text, width);
    return width;
  }, [of]);
}
