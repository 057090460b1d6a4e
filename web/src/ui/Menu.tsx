import { DropdownMenu } from "radix-ui";
import { createContext, useContext, useRef, type ReactNode } from "react";
import { useText } from "../i18n.js";
import { MoreIcon } from "../components/icons.js";
import { confirm } from "./Confirm.js";
import styles from "./Menu.module.css";
import { Tip } from "./Tip.js";

type Action = () => void;

const Choice = createContext<(action: Action) => void>(() => {});

/** A button with a menu of further actions. A chosen action runs once the menu is closed and its button has the focus again. */
export function Menu({ label, children }: { label: string; children: ReactNode }) {
  const t = useText();
  const button = useRef<HTMLButtonElement>(null);
  const chosen = useRef<Action>(undefined);
  const closed = (e: Event) => {
    e.preventDefault();
    button.current?.focus();
    const action = chosen.current;
    chosen.current = undefined;
    action?.();
  };
  return (
    <DropdownMenu.Root modal={false}>
      <Tip label={t("options")}><DropdownMenu.Trigger ref={button} className="icon" aria-label={`${t("options")}: ${label}`}><MoreIcon /></DropdownMenu.Trigger></Tip>
      <DropdownMenu.Portal>
        <DropdownMenu.Content className={styles["menu"]} align="end" sideOffset={4} collisionPadding={8} onCloseAutoFocus={closed}>
          <Choice value={(action) => (chosen.current = action)}>{children}</Choice>
        </DropdownMenu.Content>
      </DropdownMenu.Portal>
    </DropdownMenu.Root>
  );
}

/** An action of a menu. With sure, it asks that question first. */
export function MenuItem({ label, sure, onSelect }: { label: string; sure?: string; onSelect: Action }) {
  const choose = useContext(Choice);
  const action = sure === undefined ? onSelect : () => void confirm({ label, question: sure }).then((yes) => yes && onSelect());
  return <DropdownMenu.Item className={sure === undefined ? styles["item"] : `${styles["item"]} ${styles["danger"]}`} onSelect={() => choose(action)}>{label}</DropdownMenu.Item>;
}
