import type { NotificationKind } from "../gen/rialto/notification/v1/notification_pb.js";
import { NotificationList } from "../notifications.js";
import type { Context } from "./context.js";

/** What others did that concerns the user, such as likes, comments and follows. */
export function notifications(client: Context) {
  const { notificationApi } = client.services;
  const markRead = (position: string) => notificationApi.readNotifications({ position });
  return {
    /** The notifications. Refresh the list when the client emits "notifications". */
    notificationList(): NotificationList {
      return new NotificationList({ read: (before, limit) => notificationApi.listNotifications({ before, limit }), markRead, onChange: () => client.snapshots.touch() });
    },

    /** How many notifications are unread, at most 100. */
    async unreadNotifications(): Promise<number> {
      return (await notificationApi.unreadNotifications({})).count;
    },

    /** The kinds that do not notify the user. */
    async notificationKindsOff(): Promise<readonly NotificationKind[]> {
      return (await notificationApi.getNotificationSettings({})).off;
    },

    /** Replaces the kinds that do not notify the user. */
    async setNotificationKindsOff(off: readonly NotificationKind[]): Promise<readonly NotificationKind[]> {
      return (await notificationApi.setNotificationSettings({ off: [...off] })).off;
    },

    /** Whether new posts of an author notify the user. */
    async isSubscribedToPosts(author: string): Promise<boolean> {
      return (await notificationApi.getPostSubscription({ author })).subscribed;
    },

    /** Makes new posts of an author notify the user, or ends that. */
    async subscribeToPosts(author: string, subscribed = true): Promise<boolean> {
      const answer = await (subscribed ? notificationApi.subscribeToPosts({ author }) : notificationApi.unsubscribeFromPosts({ author }));
      return answer.subscribed;
    },
  };
}
