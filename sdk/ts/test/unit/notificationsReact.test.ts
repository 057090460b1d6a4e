// @vitest-environment happy-dom
import { create } from "@bufbuild/protobuf";
import { act, createElement, useLayoutEffect, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RialtoError } from "../../src/errors.js";
import { ListNotificationsResponseSchema, NotificationKind, NotificationSchema } from "../../src/gen/rialto/notification/v1/notification_pb.js";
import type { Context } from "../../src/operations/context.js";
import { notifications } from "../../src/operations/notifications.js";
import { RialtoProvider, useNotificationKindsOff, useNotificationList, usePostSubscription, useUnreadNotifications } from "../../src/react/index.js";
import { FakeClient } from "./fakeClient.js";

/** A client of user 7, with a server of as many notifications as last, of which those up to read are read. */
class NotifiedClient extends FakeClient {
  me = "7";
  fails = false;
  last = 2;
  read = 0;
  off: NotificationKind[] = [];
  subscribed = new Set<string>();
  private hinted: (() => void)[] = [];

  constructor() {
    super();
    const answer = (name: string, q: { position?: string; author?: string; off?: NotificationKind[] }): unknown => {
      if (this.fails) throw new RialtoError("unavailable", "offline");
      switch (name) {
        case "listNotifications":
          return create(ListNotificationsResponseSchema, { next: "0", position: String(this.last), notifications: Array.from({ length: this.last }, (_, i) => create(NotificationSchema, { id: String(this.last - i), position: String(this.last - i), read: this.last - i <= this.read })) });
        case "unreadNotifications":
          return { count: this.last - this.read };
        case "readNotifications":
          return void (this.read = Number(q.position));
        case "setNotificationSettings":
          this.off = q.off!;
          return { off: this.off };
        case "getNotificationSettings":
          return { off: this.off };
        case "subscribeToPosts":
          this.subscribed.add(q.author!);
          return { subscribed: true };
        case "unsubscribeFromPosts":
          this.subscribed.delete(q.author!);
          return { subscribed: false };
        default:
          return { subscribed: this.subscribed.has(q.author!) };
      }
    };
    const notificationApi = new Proxy({}, { get: (_, name: string) => async (q: object) => answer(name, q) });
    Object.assign(this, notifications({ services: { notificationApi }, snapshots: { touch: () => void this.set({}) } } as unknown as Context));
  }

  on(_: "notifications", f: () => void): () => void {
    this.hinted.push(f);
    return () => void (this.hinted = this.hinted.filter((g) => g !== f));
  }

  hint(): void {
    for (const f of this.hinted) f();
  }
}

let client: NotifiedClient;
let root: Root;

beforeEach(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  client = new NotifiedClient();
  root = createRoot(document.createElement("div"));
});
afterEach(() => {
  act(() => root.unmount());
  vi.useRealTimers();
});

async function render<T>(hook: () => T): Promise<() => T> {
  let last: T;
  function Probe(): ReactNode {
    const value = hook();
    useLayoutEffect(() => void (last = value));
    return null;
  }
  await act(async () => root.render(createElement(RialtoProvider, { client: client.asClient() }, createElement(Probe))));
  await act(() => client.set({ connection: "online" }));
  await act(() => client.frame());
  return () => last;
}

test("the count follows hints, and is that of the user", async () => {
  const shown = await render(() => useUnreadNotifications());
  expect(shown()).toBe(2);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  client.last = 5;
  for (let n = 0; n < 3; n++) client.hint();
  await act(() => vi.advanceTimersByTimeAsync(300));
  expect(shown()).toBe(5);
  client.fails = true;
  client.me = "8";
  await act(() => client.set({}));
  expect(shown()).toBe(0);
});

test("all that the list has shown is marked as read, also by another device", async () => {
  const shown = await render(() => useNotificationList());
  expect(shown().notifications.map((n) => [n.id, n.read])).toEqual([["2", false], ["1", false]]);
  await act(() => shown().markAllRead());
  await act(() => client.frame());
  expect([client.read, shown().notifications.every((n) => n.read)]).toEqual([2, true]);
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  client.last = 3;
  client.hint();
  await act(() => vi.advanceTimersByTimeAsync(300));
  vi.useRealTimers();
  await act(() => client.frame());
  expect(shown().notifications.map((n) => n.read)).toEqual([false, true, true]);
});

test("the count and the list are read again when the server was restored from a backup", async () => {
  const shown = await render(() => [useUnreadNotifications(), useNotificationList().notifications.length]);
  expect(shown()).toEqual([2, 2]);
  client.last = 1;
  client.resets++;
  await act(() => client.set({}));
  await act(() => client.frame());
  expect(shown()).toEqual([1, 1]);
});

test("a switch shows at once what is chosen, and goes back where the server refuses", async () => {
  const shown = await render(() => useNotificationKindsOff());
  expect(shown().value).toEqual([]);
  await act(() => shown().change([NotificationKind.LIKE]));
  expect([client.off, shown().value]).toEqual([[NotificationKind.LIKE], [NotificationKind.LIKE]]);
  client.fails = true;
  await act(() => expect(shown().change([])).rejects.toThrow("offline"));
  expect(shown().value).toEqual([NotificationKind.LIKE]);
});

test("a subscription to an author's posts begins and ends", async () => {
  const shown = await render(() => usePostSubscription("9"));
  expect(shown().value).toBe(false);
  await act(() => shown().change(true));
  expect([shown().value, client.subscribed.has("9")]).toEqual([true, true]);
  await act(() => shown().change(false));
  expect([shown().value, client.subscribed.has("9")]).toEqual([false, false]);
});
