import type { Notification } from "@rialto-im/client";
import { useNotificationList } from "@rialto-im/client/react";
import { Link } from "wouter";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { errorText } from "../errors.js";
import { moment, when } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { notificationPath, notificationText } from "../notificationText.js";
import { useNow } from "../now.js";
import { UserAvatar } from "./Avatar.js";
import "./notificationsPane.css";

/** What others did that concerns the user, the newest first. */
export function NotificationsPane() {
  const t = useText();
  const { run, busy, error } = useAction();
  const n = useNotificationList();
  const unread = n.notifications.some((one) => !one.read);
  const failed = n.error !== undefined;
  return (
    <section className="pane-list notifications" aria-label={t("notifications")} aria-busy={n.loading}>
      <header className="notifications-head">
        <h2>{t("notifications")}</h2>
        <button className="link" disabled={!unread || busy} onClick={() => void run(n.markAllRead)}>{t("markAllRead")}</button>
      </header>
      {error && <p className="error" role="alert">{error}</p>}
      <ul className="rows notification-rows" data-testid="notifications">
        {n.notifications.map((one) => <Row key={one.id} of={one} />)}
      </ul>
      <div className="notifications-end" role="status">
        {failed ? (
          <><p className="error">{t("notificationsFailed", { why: errorText(n.error) })}</p><button onClick={() => void n.loadMore()}>{t("retry")}</button></>
        ) : n.loading ? (
          <p>{t("loading")}</p>
        ) : n.hasMore ? (
          <button className="link" onClick={() => void n.loadMore()}>{t("showMore")}</button>
        ) : (
          <p>{t(n.notifications.length === 0 ? "noNotifications" : "allNotifications")}</p>
        )}
      </div>
    </section>
  );
}

function Row({ of: n }: { of: Notification }) {
  const client = useClient();
  const t = useText();
  const now = useNow();
  const text = notificationText(n, (u) => nameOf(client, u), t);
  const time = Number(n.timeMs);
  if (text === undefined) return null;
  return (
    <li>
      <Link href={notificationPath(n)} className={n.read ? "row notification" : "row notification unread"} data-testid="notification">
        <UserAvatar user={n.actors[0]!} size={40} />
        <span className="notification-text">
          <span>{text}</span>
          <time dateTime={new Date(time).toISOString()} title={moment(time, getLocale())}>{when(time, getLocale(), now)}</time>
        </span>
        {!n.read && <span className="notification-dot" role="img" aria-label={t("unreadNotification")} />}
      </Link>
    </li>
  );
}
