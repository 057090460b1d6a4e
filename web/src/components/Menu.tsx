import { useId, useRef, useState, type KeyboardEvent, type ReactNode, type ToggleEvent } from "react";
import { useText } from "../i18n.js";

const edge = 8;

/** A few more things to do with a row. Lies above everything, and closes with Escape, a click elsewhere, or a choice. */
export function Menu({ label, children }: { label: string; children: ReactNode }) {
  const t = useText();
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const list = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);

  const toggled = (e: ToggleEvent) => {
    const shown = e.newState === "open";
    setOpen(shown);
    if (!shown || !list.current || !button.current) return;
    place(list.current, button.current.getBoundingClientRect());
    list.current.querySelector("button")?.focus();
  };
  const key = (e: KeyboardEvent) => {
    if ((e.target as Element).closest("dialog")) return; // a question that was asked from here
    const items = [...(list.current?.querySelectorAll<HTMLElement>(":scope > button") ?? [])];
    const at = items.indexOf(document.activeElement as HTMLElement);
    if (e.key === "ArrowDown") items[(at + 1) % items.length]?.focus();
    else if (e.key === "ArrowUp") items.at(at <= 0 ? -1 : at - 1)?.focus();
    else if (e.key === "Escape" && open) list.current?.hidePopover();
    else return;
    e.preventDefault();
    e.stopPropagation();
  };
  // Closed before what was chosen opens a dialog, so that the focus comes back to the button, and not to what is hidden.
  const chosen = (e: { target: EventTarget }) => list.current?.contains(e.target as Node) && list.current.hidePopover();
  return (
    <>
      <button type="button" className="icon" ref={button} popoverTarget={id} aria-expanded={open} aria-label={`${t("options")}: ${label}`} title={t("options")}>⋯</button>
      <div id={id} className="menu" popover="auto" ref={list} onToggle={toggled} onKeyDown={key} onClick={chosen}>{children}</div>
    </>
  );
}

/** Below the button, or above it where there is no room, its end at the button's end. */
function place(list: HTMLElement, at: DOMRect): void {
  const { width, height } = list.getBoundingClientRect();
  const rtl = getComputedStyle(list).direction === "rtl";
  const left = rtl ? at.left : at.right - width;
  const below = at.bottom + height + edge <= innerHeight;
  list.style.left = `${Math.max(edge, Math.min(left, innerWidth - width - edge))}px`;
  list.style.top = `${below ? at.bottom : Math.max(edge, at.top - height)}px`;
}
