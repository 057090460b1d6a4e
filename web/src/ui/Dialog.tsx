import { Dialog as Primitive } from "radix-ui";
import type { ReactNode } from "react";
import { CloseIcon } from "../components/icons.js";
import { useText } from "../i18n.js";
import styles from "./Dialog.module.css";
import { IconButton } from "./IconButton.js";
import { useReturnFocus } from "./returnFocus.js";

/** A modal dialog. The element with data-first has the focus at first; without one, it is the button that closes. */
export function Dialog({ title, wide = false, onClose, children }: { title: string; wide?: boolean; onClose: () => void; children: ReactNode }) {
  const t = useText();
  const { opened, closed } = useReturnFocus();
  return (
    <Primitive.Root open onOpenChange={(open) => !open && onClose()}>
      <Primitive.Portal>
        <Primitive.Overlay className={styles["overlay"]} />
        <Primitive.Content className={wide ? `${styles["dialog"]} ${styles["wide"]}` : styles["dialog"]} aria-describedby={undefined} onOpenAutoFocus={(e) => { opened(); focusFirst(e); }} onCloseAutoFocus={closed} onEscapeKeyDown={keepIfChoosing}>
          <header>
            <Primitive.Title>{title}</Primitive.Title>
            <Primitive.Close asChild><IconButton label={t("close")}><CloseIcon /></IconButton></Primitive.Close>
          </header>
          {children}
        </Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}

/** The Escape key closes a list of choices first, as that of names to mention. */
function keepIfChoosing(e: KeyboardEvent): void {
  if (document.activeElement?.hasAttribute("aria-activedescendant")) e.preventDefault();
}

function focusFirst(e: Event): void {
  const first = (e.currentTarget as HTMLElement).querySelector<HTMLElement>("[data-first]");
  if (!first) return;
  e.preventDefault();
  first.focus();
}
