import { useNotificationKindsOff } from "@rialto-im/client/react";
import { useAction } from "../action.js";
import { useText } from "../i18n.js";
import { kinds } from "../notificationText.js";

/** A switch for each kind of notification, on all devices of the user. */
export function NotificationKinds() {
  const t = useText();
  const { run, error } = useAction();
  const { value: off, change } = useNotificationKindsOff();
  return (
    <fieldset className="stack" disabled={off === undefined} data-testid="notification-kinds">
      <legend>{t("notifyOf")}</legend>
      {kinds.map(([kind, text]) => (
        <label key={kind} className="check">
          <input type="checkbox" checked={off !== undefined && !off.includes(kind)} onChange={(e) => void run(() => change([...(off ?? []).filter((k) => k !== kind), ...(e.target.checked ? [] : [kind])]))} />
          {t(text)}
        </label>
      ))}
      <p className="muted">{t("notifyOfNote")}</p>
      {error && <p className="error" role="alert">{error}</p>}
    </fieldset>
  );
}
