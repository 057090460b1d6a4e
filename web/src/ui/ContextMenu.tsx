import { ContextMenu as Primitive } from "radix-ui";
import { useRef, type ReactElement, type ReactNode, type TouchEvent } from "react";
import styles from "./Menu.module.css";

/** A menu that opens by a right click, a long touch, or the menu key on what it belongs to. */
export function ContextMenu({ items, children }: { items: ReactNode; children: ReactElement }) {
  const { onOpen, ...release } = useRelease();
  return (
    <Primitive.Root modal={false} onOpenChange={onOpen}>
      <Primitive.Trigger asChild {...release}>{children}</Primitive.Trigger>
      <Primitive.Portal>
        <Primitive.Content className={styles["menu"]} collisionPadding={8}>{items}</Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}

/** A finger that opened the menu does not click what it lets go of: a button or a picture within the message. */
function useRelease() {
  const finger = useRef<"up" | "down" | "opened">("up");
  return {
    onOpen: (open: boolean) => {
      if (open && finger.current === "down") finger.current = "opened";
    },
    onTouchStartCapture: () => void (finger.current = "down"),
    onTouchEndCapture: (e: TouchEvent) => {
      if (finger.current === "opened") e.preventDefault(); // no mouse events and no click follow
      finger.current = "up";
    },
  };
}

export function ContextItem({ label, onSelect }: { label: string; onSelect: () => void }) {
  return <Primitive.Item className={styles["item"]} onSelect={onSelect}>{label}</Primitive.Item>;
}
