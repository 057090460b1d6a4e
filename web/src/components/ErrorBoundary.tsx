import { Component, type ReactNode } from "react";
import { useText, type Key } from "../i18n.js";
import "./auth.css";

/** Shown in place of the app where it cannot go on. */
export function ErrorPage({ text }: { text: Key }) {
  const t = useText();
  return (
    <main className="auth">
      <div className="card" role="alert">
        <img src="/icon.svg" alt="" width="48" height="48" />
        <p>{t(text)}</p>
        <button className="primary" onClick={() => location.reload()}>{t("reload")}</button>
      </div>
    </main>
  );
}

/** Catches a fault of the app itself, so that it says so. What was written is kept, and is there after a reload. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render(): ReactNode {
    return this.state.failed ? <ErrorPage text="errApp" /> : this.props.children;
  }
}
