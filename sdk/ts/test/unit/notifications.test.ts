import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ListNotificationsResponseSchema, NotificationSchema } from "../../src/gen/rialto/notification/v1/notification_pb.js";
import { NotificationList } from "../../src/notifications.js";

/** A server of notifications with ids, the newest first, in pages; one that moves gets a new position. */
class Server {
  positions: [id: string, position: number][] = [];
  marked: string[] = [];
  reads = 0;
  changes = 0;
  list = new NotificationList({
    read: async (before, limit) => {
      this.reads++;
      const below = before === "0" ? Infinity : Number(before);
      const sorted = this.positions.filter(([, p]) => p < below).sort((a, b) => b[1] - a[1]);
      const page = sorted.slice(0, limit);
      const next = sorted.length > limit ? String(page.at(-1)![1]) : "0";
      return create(ListNotificationsResponseSchema, { next, position: String(Math.max(0, ...this.positions.map(([, p]) => p))), notifications: page.map(([id, position]) => create(NotificationSchema, { id, position: String(position) })) });
    },
    markRead: async (position) => this.marked.push(position),
    onChange: () => void this.changes++,
  });

  add(n: number): void {
    for (let i = 0; i < n; i++) this.positions.push([String(this.positions.length + 1), this.positions.length + 1]);
  }
}

const ids = (list: NotificationList) => list.notifications.map((n) => n.id);

test("pages follow each other, and none comes twice although one moves up", async () => {
  const s = new Server();
  s.add(45);
  await s.list.more();
  expect(ids(s.list)).toEqual(Array.from({ length: 20 }, (_, i) => String(45 - i)));
  s.positions[9]![1] = 46; // of a later page
  await Promise.all([s.list.more(), s.list.more()]);
  expect(s.reads).toBe(2);
  await s.list.more();
  expect(s.list.hasMore).toBe(false);
  expect(new Set(ids(s.list)).size).toBe(ids(s.list).length);
  expect(ids(s.list)).toHaveLength(44);
  await s.list.refresh();
  expect(ids(s.list)).toHaveLength(45);
  expect(ids(s.list)[0]).toBe("10");
});

test("marking as read covers what the list has shown, and no more", async () => {
  const s = new Server();
  s.add(2);
  await s.list.markAllRead();
  expect(s.marked).toEqual([]);
  await s.list.refresh();
  s.add(1);
  await s.list.markAllRead();
  expect(s.marked).toEqual(["2"]);
  expect(s.list.notifications.map((n) => n.read)).toEqual([true, true]);
});

test("a list that could not be read is read by the next call", async () => {
  let fails = true;
  const list = new NotificationList({
    read: async () => {
      if (fails) throw new Error("offline");
      return create(ListNotificationsResponseSchema, { position: "0", next: "0" });
    },
    markRead: async () => {},
    onChange: () => {},
  });
  await expect(list.more()).rejects.toThrow("offline");
  expect(list.loaded).toBe(false);
  fails = false;
  await list.more();
  expect(list.loaded).toBe(true);
});
