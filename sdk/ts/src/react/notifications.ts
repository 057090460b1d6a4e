import { useCallback, useEffect, useMemo, useState } from "react";
import type { Notification, NotificationKind } from "../gen/rialto/notification/v1/notification_pb.js";
import { useChanges } from "./changes.js";
import { useOwner, useRialto, useSnapshot } from "./context.js";
import { useOnline } from "./hooks.js";

/** How many notifications are unread, at most 100: 100 stands for more. */
export function useUnreadNotifications(): number {
  const client = useRialto();
  const owner = useOwner();
  const [read, setRead] = useState({ owner, count: 0 });
  const readAgain = useCallback(() => {
    client.unreadNotifications().then((count) => setRead({ owner, count }), () => {}); // the next one finds it
  }, [client, owner]);
  useChanges("notifications", readAgain);
  return read.owner === owner ? read.count : 0;
}

export interface Notifications {
  readonly notifications: readonly Notification[];
  /** The first page is not there yet. */
  readonly loading: boolean;
  /** Why notifications could not be read. */
  readonly error: unknown;
  readonly hasMore: boolean;
  /** Reads the next page. */
  readonly loadMore: () => Promise<void>;
  /** Marks all that was shown as read, on all devices. */
  readonly markAllRead: () => Promise<void>;
}

/** The notifications, with new ones while they are shown. */
export function useNotificationList(): Notifications {
  const client = useRialto();
  const owner = useOwner();
  const list = useMemo(() => client.notificationList(), [client, owner]);
  const [failed, setFailed] = useState<{ list: typeof list; error: unknown }>();
  const run = useCallback((work: Promise<void>) => work.then(() => setFailed(undefined), (error: unknown) => setFailed({ list, error })), [list]);
  useChanges("notifications", useCallback(() => void run(list.refresh()), [list, run]));
  const loadMore = useCallback(() => run(list.more()), [list, run]);
  const markAllRead = useCallback(() => run(list.markAllRead()), [list, run]);
  const notifications = useSnapshot(() => list.notifications);
  const hasMore = useSnapshot(() => list.hasMore);
  const loaded = useSnapshot(() => list.loaded);
  const error = failed?.list === list ? failed.error : undefined;
  return { notifications, loading: !loaded && error === undefined, error, hasMore, loadMore, markAllRead };
}

/** Something of the server that this device may change: undefined until it was read. */
interface Changeable<T> {
  readonly value: T | undefined;
  /** Changes it, and fails if the server refuses. */
  readonly change: (value: T) => Promise<void>;
}

function useChangeable<T>(of: string, read: () => Promise<T>, write: (value: T) => Promise<T>): Changeable<T> {
  const online = useOnline();
  const [known, setKnown] = useState<{ of: string; value: T }>();
  useEffect(() => {
    if (!online) return;
    let current = true;
    read().then((value) => current && setKnown({ of, value }), () => {}); // it is read again with the next connection
    return () => void (current = false);
  }, [of, online]);
  const change = async (value: T) => {
    const before = known;
    setKnown({ of, value }); // it shows at once
    try {
      const stored = await write(value);
      setKnown((now) => (now?.value === value ? { of, value: stored } : now));
    } catch (err) {
      setKnown((now) => (now?.value === value ? before : now));
      throw err;
    }
  };
  return { value: known?.of === of ? known.value : undefined, change };
}

/** The kinds that do not notify the user. */
export function useNotificationKindsOff(): Changeable<readonly NotificationKind[]> {
  const client = useRialto();
  return useChangeable(useOwner(), () => client.notificationKindsOff(), (off) => client.setNotificationKindsOff(off));
}

/** Whether new posts of an author notify the user. */
export function usePostSubscription(author: string): Changeable<boolean> {
  const client = useRialto();
  return useChangeable(author, () => client.isSubscribedToPosts(author), (subscribed) => client.subscribeToPosts(author, subscribed));
}
