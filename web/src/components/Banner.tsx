import { useEffect, useState } from "react";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";

const patienceMs = 1_000;

/** Says when messages cannot go out right now. A start that takes no longer than usual is not worth a word. */
export function Banner() {
  const client = useClient();
  const t = useText();
  const { connection } = client;
  const [slow, setSlow] = useState(false);
  useEffect(() => {
    setSlow(false);
    if (connection !== "connecting") return;
    const timer = setTimeout(() => setSlow(true), patienceMs);
    return () => clearTimeout(timer);
  }, [connection]);
  const text = connection === "offline" ? t("offlineBanner") : connection === "polling" ? t("pollingBanner") : connection === "connecting" && slow ? t("connecting") : "";
  return (
    <div role="status" aria-live="polite">
      {text && (
        <div className={`banner ${connection}`} data-testid="banner">
          {text} {connection === "offline" && <button className="link" onClick={() => client.reconnect()}>{t("tryNow")}</button>}
        </div>
      )}
    </div>
  );
}
