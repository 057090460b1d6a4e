import type { ListNotificationsResponse, Notification } from "./gen/rialto/notification/v1/notification_pb.js";
import { PagedList } from "./pagedList.js";

const pageSize = 20;
const mostOfPage = 50; // of the server
/** A list is read again from its top as far as it was read, so many pages at most. */
const mostPages = 10;
const newest = "0";

export interface NotificationListDeps {
  /** Reads the page below one; the newest ones, where before is "0". */
  read: (before: string, limit: number) => Promise<ListNotificationsResponse>;
  /** Marks as read what a list up to a position has shown. */
  markRead: (position: string) => Promise<unknown>;
  onChange: () => void;
}

/** NotificationList is what others did that concerns the user, the newest first, read in pages. */
export class NotificationList extends PagedList {
  notifications: readonly Notification[] = [];
  private next = newest;
  private position = newest;

  constructor(private readonly deps: NotificationListDeps) {
    super(deps.onChange);
  }

  /** Reads the list again as far as it was read: what changed may have moved to the top. */
  refresh(): Promise<void> {
    return this.inTurn(() => this.refreshNow());
  }

  private async refreshNow(): Promise<void> {
    const wanted = this.notifications.length;
    let page = await this.deps.read(newest, wanted > pageSize ? mostOfPage : pageSize);
    const list = [...page.notifications];
    this.position = page.position;
    for (let n = 1; page.next !== newest && n < mostPages && list.length < Math.max(wanted, 1); n++) {
      page = await this.deps.read(page.next, mostOfPage);
      list.push(...page.notifications);
    }
    this.show(list, page.next);
  }

  protected async readMore(): Promise<void> {
    if (!this.loaded) return this.refreshNow();
    if (!this.hasMore) return;
    const list = [...this.notifications];
    let next = this.next;
    for (let n = 0, before = list.length; next !== newest && n < mostPages && list.length === before; n++) {
      const page = await this.deps.read(next, pageSize);
      list.push(...page.notifications); // positions only rise: none of the list is on a later page
      next = page.next;
    }
    this.show(list, next);
  }

  /** Marks all that the list has shown as read, on all devices. */
  markAllRead(): Promise<void> {
    return this.inTurn(async () => {
      if (!this.loaded) return;
      await this.deps.markRead(this.position);
      this.readTo(this.position);
    });
  }

  /** Another device has read up to a position. */
  readTo(position: string): void {
    const read = BigInt(position);
    this.notifications = this.notifications.map((n) => (n.read || BigInt(n.position) > read ? n : { ...n, read: true }));
    this.deps.onChange();
  }

  private show(list: readonly Notification[], next: string): void {
    this.notifications = list;
    this.loaded = true;
    this.next = next;
    this.hasMore = next !== newest;
  }
}
