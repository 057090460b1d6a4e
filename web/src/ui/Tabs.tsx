import { Tabs as Primitive } from "radix-ui";
import { useState, type ReactNode } from "react";
import styles from "./Tabs.module.css";

export interface Tab {
  id: string;
  label: string;
  content: ReactNode;
  /** It is in the page only while it is shown. */
  fresh?: boolean;
}

/**
 * Several views of one thing, of which one is shown. The arrow keys move between the tabs. A view that is hidden stays in the page, so
 * that what was typed there is not lost.
 */
export function Tabs({ label, tabs }: { label: string; tabs: readonly Tab[] }) {
  const [chosen, setChosen] = useState("");
  const current = tabs.find((tab) => tab.id === chosen) ?? tabs[0];
  return (
    <Primitive.Root value={current?.id ?? ""} onValueChange={setChosen}>
      <Primitive.List className={styles["list"]} aria-label={label}>
        {tabs.map((tab) => <Primitive.Trigger key={tab.id} value={tab.id} className={styles["tab"]}>{tab.label}</Primitive.Trigger>)}
      </Primitive.List>
      {tabs.map((tab) => <Primitive.Content key={tab.id} value={tab.id} className={styles["view"]} hidden={tab.id !== current?.id} forceMount>{(!tab.fresh || tab.id === current?.id) && tab.content}</Primitive.Content>)}
    </Primitive.Root>
  );
}
