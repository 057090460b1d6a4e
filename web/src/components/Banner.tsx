import { useClient } from "../client.js";
import { useText } from "../i18n.js";

/** Says when messages cannot go out right now. */
export function Banner() {
  const client = useClient();
  const t = useText();
  const text = client.connection === "offline" ? t("offlineBanner") : client.connection === "polling" ? t("pollingBanner") : client.connection === "connecting" ? t("connecting") : "";
  return (
    <div role="status" aria-live="polite">
      {text && <div className={`banner ${client.connection}`} data-testid="banner">{text}</div>}
    </div>
  );
}
