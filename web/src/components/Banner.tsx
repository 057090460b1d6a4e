import { useEffect, useState } from "react";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";

const patienceMs = 1_000;

/** Says when messages cannot go out right now. A start that takes no longer than usual is not worth a word. */
export function Banner() {
  const client = useClient();
  const t = useText();
  const { connection, catchingUp } = client;
  const busy = connection === "connecting" || (connection === "online" && catchingUp);
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    setSlow(false);
    if (!busy) return;
    const timer = setTimeout(() => setSlow(true), patienceMs);
    return () => clearTimeout(timer);
  }, [busy]);
  const text = connection === "offline" ? t("offlineBanner") : connection === "polling" ? t("pollingBanner") : busy && slow ? t(connection === "online" ? "catchingUp" : "connecting") : "";
  return (
    <div role="status" aria-live="polite">
      {text && (
        <div className={`banner ${busy ? "connecting" : connection}`} data-testid="banner">
          {text} {connection === "offline" && <button className="link" onClick={() => client.reconnect()}>{t("tryNow")}</button>}
        </div>
      )}
    </div>
  );
}
