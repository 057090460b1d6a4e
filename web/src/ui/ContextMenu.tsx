import { ContextMenu as Primitive } from "radix-ui";
import type { ReactElement, ReactNode } from "react";
import styles from "./Menu.module.css";

/** A menu that opens by a right click, a long touch, or the menu key on what it belongs to. */
export function ContextMenu({ items, children }: { items: ReactNode; children: ReactElement }) {
  return (
    <Primitive.Root modal={false}>
      <Primitive.Trigger asChild>{children}</Primitive.Trigger>
      <Primitive.Portal>
        <Primitive.Content className={styles["menu"]} collisionPadding={8}>{items}</Primitive.Content>
      </Primitive.Portal>
    </Primitive.Root>
  );
}

export function ContextItem({ label, onSelect }: { label: string; onSelect: () => void }) {
  return <Primitive.Item className={styles["item"]} onSelect={onSelect}>{label}</Primitive.Item>;
}
