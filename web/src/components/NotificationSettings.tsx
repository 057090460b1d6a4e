import { useState } from "react";
import { useText } from "../i18n.js";
import { NotificationKinds } from "./NotificationKinds.js";
import { PushSettings } from "./PushSettings.js";
import { QuietHours } from "./QuietHours.js";
import { choose, useChoices } from "../notifications/choices.js";
import { playTone } from "../notifications/tone.js";
import { permission } from "../notifications/useNotifications.js";

/** Notifications of this device. The browser asks the user when they are switched on, and never before. */
export function NotificationSettings() {
  const t = useText();
  const choices = useChoices();
  const [allowed, setAllowed] = useState(permission());
  const on = choices.on && allowed === "granted";
  const change = async (wanted: boolean) => {
    if (!wanted) return choose({ on: false });
    const answer = await Notification.requestPermission();
    setAllowed(answer);
    choose({ on: answer === "granted" });
  };
  return (
    <div className="stack">
      <NotificationKinds />
      <label className="check">
        <input type="checkbox" checked={on} disabled={allowed === undefined} aria-describedby="notifications-note" onChange={(e) => void change(e.target.checked)} />
        {t("notifyHere")}
      </label>
      <p id="notifications-note" className="muted" role="status">{t(allowed === undefined ? "notifyUnsupported" : allowed === "denied" ? "notifyBlocked" : "notifyNote")}</p>
      <label className="check">
        <input type="checkbox" checked={choices.preview} disabled={!on} onChange={(e) => choose({ preview: e.target.checked })} />
        {t("notifyPreview")}
      </label>
      <label className="check">
        <input type="checkbox" checked={choices.sound} disabled={!on} onChange={(e) => { choose({ sound: e.target.checked }); if (e.target.checked) playTone(); }} />
        {t("notifySound")}
      </label>
      <PushSettings on={on} />
      <QuietHours />
    </div>
  );
}
