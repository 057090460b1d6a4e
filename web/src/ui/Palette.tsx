import { Dialog as Primitive } from "radix-ui";
import type { ReactNode, RefObject } from "react";
import styles from "./Palette.module.css";
import { useReturnFocus } from "./returnFocus.js";

/**
 * A dialog at the top of the page, all of the page on a phone, whose first field has the focus. What is within handles the Escape key. The focus
 * goes back to where it was, unless leaving is set: then what was opened has it.
 */
export function Palette({ title, leaving, onClose, children }: { title: string; leaving: RefObject<boolean>; onClose: () => void; children: ReactNode }) {
  const { opened, closed } = useReturnFocus();
  return (
    <Primitive.Root open onOpenChange={(open) => !open && onClose()}>
      <Primitive.Portal>
        <Primitive.Overlay className={styles["overlay"]} />
        <Primitive.Content className={styles["palette"]} aria-describedby={undefined} onOpenAutoFocus={(e) => { opened(); focusField(e); }} onCloseAutoFocus={(e) => (leaving.current ? focusOpened(e) : closed(e))} onEscapeKeyDown={(e) => e.preventDefault()}>
          <Primitive.Title className="sr-only">{title}</Primitive.Title>
          {children}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}

/** What was typed before is selected, so that typing replaces it. */
function focusField(e: Event): void {
  const field = (e.currentTarget as HTMLElement).querySelector("input");
  if (!field) return;
  e.preventDefault();
  field.focus();
  field.select();
}

/** What was opened may have the focus already, as the field of a chat. */
function focusOpened(e: Event): void {
  e.preventDefault();
  if (document.activeElement !== document.body) return;
  const messages = document.querySelector<HTMLElement>("main .messages");
  const main = document.querySelector<HTMLElement>("main");
  if (main && !messages) main.tabIndex = -1;
  (messages ?? main)?.focus({ preventScroll: true });
}
