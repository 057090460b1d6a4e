import { useRef, type PointerEvent } from "react";

/** A finger that moves so far, in pixels, swipes or scrolls: the longer way decides. */
const undecided = 10;
/** Letting go beyond this acts. */
export const threshold = 56;
const farthest = 80;

interface Swipe {
  pointer: number;
  x: number;
  y: number;
  /** How far it is, once it is a swipe. */
  by: number | undefined;
}

/**
 * Swiping an element sideways with a finger, either way, calls onSwipe. The browser keeps the vertical direction for scrolling
 * (touch-action), and takes the finger back then. The element shows how far it is by data-swipe, data-armed and --swipe.
 */
export function useSwipe(onSwipe: (() => void) | undefined) {
  const swipe = useRef<Swipe>(undefined);

  const end = (e: PointerEvent<HTMLElement>) => {
    const { by } = swipe.current ?? {};
    swipe.current = undefined;
    show(e.currentTarget, undefined);
    return by;
  };
  if (!onSwipe) return {};
  return {
    onPointerDown: (e: PointerEvent<HTMLElement>) => {
      const sideways = (e.target as Element).closest("input, textarea, audio, video");
      swipe.current = e.pointerType === "touch" && e.isPrimary && !sideways ? { pointer: e.pointerId, x: e.clientX, y: e.clientY, by: undefined } : undefined;
    },
    onPointerMove: (e: PointerEvent<HTMLElement>) => {
      const s = swipe.current;
      if (!s || s.pointer !== e.pointerId) return;
      const [x, y] = [e.clientX - s.x, e.clientY - s.y];
      if (s.by === undefined) {
        if (Math.max(Math.abs(x), Math.abs(y)) < undecided) return;
        if (Math.abs(x) <= Math.abs(y)) return void (swipe.current = undefined);
      }
      const armed = isArmed(s.by);
      s.by = Math.max(-farthest, Math.min(farthest, x));
      if (isArmed(s.by) && !armed) navigator.vibrate?.(10);
      show(e.currentTarget, s.by);
    },
    onPointerUp: (e: PointerEvent<HTMLElement>) => {
      if (isArmed(end(e))) onSwipe();
    },
    onPointerCancel: end,
  };
}

function isArmed(by: number | undefined): boolean {
  return by !== undefined && Math.abs(by) >= threshold;
}

function show(element: HTMLElement, by: number | undefined): void {
  if (by === undefined) {
    delete element.dataset["swipe"];
    delete element.dataset["armed"];
    return;
  }
  element.dataset["swipe"] = by < 0 ? "left" : "right";
  element.toggleAttribute("data-armed", isArmed(by));
  element.style.setProperty("--swipe", `${by}px`);
  element.style.setProperty("--pull", String(Math.min(1, Math.abs(by) / threshold)));
}
