import { useEffect, useState } from "react";
import { client } from "../client.js";
import { useText } from "../i18n.js";
import { choose, useChoices } from "../notifications/choices.js";
import { isPushAvailable, setPush, setPushText } from "../notifications/push.js";

/** What the server pushes to this device while the app is closed. It is not shown where the server or the browser has no push notifications. */
export function PushSettings({ on }: { on: boolean }) {
  const t = useText();
  const { push } = useChoices();
  const [available, setAvailable] = useState(false);
  const [texts, setTexts] = useState<boolean>();
  const [failed, setFailed] = useState(false);
  useEffect(() => {
    let shown = true;
    const read = async () => {
      if (!(await isPushAvailable())) return;
      const { showText } = await client.pushApi.getPushSettings({});
      if (!shown) return;
      setTexts(showText);
      setAvailable(true);
    };
    void read().catch(() => {}); // offline: the switch is there the next time
    return () => void (shown = false);
  }, []);
  if (!available) return null;
  const change = (part: Promise<void>, done: () => void) => part.then(() => { setFailed(false); done(); }, () => setFailed(true));
  return (
    <>
      <label className="check">
        <input type="checkbox" checked={on && push} disabled={!on} onChange={(e) => { const wanted = e.target.checked; void change(setPush(wanted), () => choose({ push: wanted })); }} />
        {t("notifyClosed")}
      </label>
      <label className="check">
        <input type="checkbox" checked={texts === true} disabled={!on || !push} onChange={(e) => { const wanted = e.target.checked; void change(setPushText(wanted), () => setTexts(wanted)); }} />
        {t("notifyClosedText")}
      </label>
      <p className="muted" role="status">{failed ? t("notifyClosedFailed") : t("notifyClosedNote")}</p>
    </>
  );
}
