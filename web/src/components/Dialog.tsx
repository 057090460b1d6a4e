import { useEffect, useRef, type ReactNode } from "react";
import { createPortal } from "react-dom";
import { useText } from "../i18n.js";
import { CloseIcon } from "./icons.js";

/** A modal: the browser keeps the focus inside, and Escape closes it. It lies outside of what asked for it, which may be hidden. */
export function Dialog({ title, wide = false, onClose, children }: { title: string; wide?: boolean; onClose: () => void; children: ReactNode }) {
  const t = useText();
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const d = ref.current;
    if (!d || d.open) return;
    d.showModal();
    d.querySelector<HTMLElement>("[data-first]")?.focus(); // else it is the button that closes
  }, []);
  return createPortal(
    <dialog ref={ref} className={wide ? "wide" : undefined} aria-label={title} onClose={onClose} onClick={(e) => e.target === ref.current && ref.current?.close()}>
      <div className="dialog">
        <header>
          <h2>{title}</h2>
          <button type="button" className="icon" aria-label={t("close")} title={t("close")} onClick={() => ref.current?.close()}><CloseIcon /></button>
        </header>
        {children}
      </div>
    </dialog>,
    document.body,
  );
}
