import type { ReactNode } from "react";
import { BackIcon } from "../components/icons.js";
import { useText } from "../i18n.js";
import { goUp } from "../routes.js";
import { IconButton } from "./IconButton.js";
import styles from "./Page.module.css";

/** What is open of an area's list: a title, the way back on a phone, and a column that scrolls. */
export function Page({ title, className = "", error = "", children }: { title: string; className?: string; error?: string; children: ReactNode }) {
  const t = useText();
  return (
    <main className={`${styles["page"]} ${className}`} aria-label={title}>
      <header className={styles["head"]}>
        <IconButton label={t("back")} className="back" onClick={goUp}><BackIcon /></IconButton>
        <h2><bdi>{title}</bdi></h2>
      </header>
      <div className={styles["body"]}>
        <div className={styles["content"]}>
          {error && <p className="error" role="alert">{error}</p>}
          {children}
        </div>
      </div>
    </main>
  );
}
