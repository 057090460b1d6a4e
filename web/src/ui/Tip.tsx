import { Tooltip } from "radix-ui";
import type { FocusEvent, ReactElement, ReactNode } from "react";
import styles from "./Tip.module.css";

export type Side = "top" | "bottom" | "right";

/** Shows what a control without words does, when the pointer rests on it or the keyboard reaches it. */
export function Tip({ label, side = "bottom", children }: { label: string; side?: Side; children: ReactElement }) {
  return (
    <Tooltip.Root>
      <Tooltip.Trigger asChild onFocus={onlyByKeyboard}>{children}</Tooltip.Trigger>
      <Tooltip.Portal>
        <Tooltip.Content className={styles["tip"]} side={side} sideOffset={6} collisionPadding={8}>{label}</Tooltip.Content>
      </Tooltip.Portal>
    </Tooltip.Root>
  );
}

/** A control that a closing menu or dialog gives the focus back to does not show its tip. */
function onlyByKeyboard(e: FocusEvent): void {
  if (!e.target.matches(":focus-visible")) e.preventDefault();
}

/** Tips that follow each other come at once. The app has one. */
export function Tips({ children }: { children: ReactNode }) {
  return <Tooltip.Provider delayDuration={500} disableHoverableContent>{children}</Tooltip.Provider>;
}
