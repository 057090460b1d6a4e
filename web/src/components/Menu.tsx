import { useRef, type KeyboardEvent, type ReactNode } from "react";
import { useText } from "../i18n.js";

/** A few more things to do with a row. Closes with Escape, when something is chosen, and when the focus goes elsewhere. */
export function Menu({ label, children }: { label: string; children: ReactNode }) {
  const t = useText();
  const ref = useRef<HTMLDetailsElement>(null);
  const close = () => {
    if (ref.current) ref.current.open = false;
  };
  const key = (e: KeyboardEvent) => {
    if (!ref.current?.open || (e.target as Element).closest("dialog")) return;
    const items = [...ref.current.querySelectorAll<HTMLElement>("div > button")];
    const at = items.indexOf(document.activeElement as HTMLElement);
    if (e.key === "ArrowDown") items[(at + 1) % items.length]?.focus();
    else if (e.key === "ArrowUp") items.at(at <= 0 ? -1 : at - 1)?.focus();
    else if (e.key === "Escape") {
      close();
      ref.current.querySelector<HTMLElement>("summary")?.focus();
    } else return;
    e.preventDefault();
    e.stopPropagation();
  };
  return (
    <details className="menu" ref={ref} onKeyDown={key} onBlur={(e) => !e.currentTarget.contains(e.relatedTarget) && !e.currentTarget.querySelector("dialog") && close()}>
      <summary aria-label={`${t("options")}: ${label}`}>⋯</summary>
      <div>{children}</div>
    </details>
  );
}
