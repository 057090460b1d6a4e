import { useRef } from "react";

/** Gives the focus back to what had it before a dialog opened. The library does so only where a trigger of its own opened it. */
export function useReturnFocus(): { opened: () => void; closed: (e: Event) => void } {
  const before = useRef<Element | null>(null);
  return {
    opened: () => void (before.current = document.activeElement),
    closed: (e) => {
      e.preventDefault();
      if (before.current instanceof HTMLElement) before.current.focus();
    },
  };
}
