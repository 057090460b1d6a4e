import { NotificationKind, NotificationSubject, type Notification } from "@rialto-im/client";
import { expect, test } from "vitest";
import { translate, type Translate } from "../src/i18n.js";
import { kinds, notificationPath, notificationText } from "../src/notificationText.js";

const en: Translate = (key, values) => translate("en", key, values);
const zh: Translate = (key, values) => translate("zh", key, values);
const names: Record<string, string> = { "1": "Ana", "2": "Bea", "3": "Cem" };

function notification(kind: NotificationKind, actors: string[], more: Partial<Notification> = {}): Notification {
  return { $typeName: "rialto.notification.v1.Notification", id: "1", position: "1", kind, subjectKind: NotificationSubject.POST, subject: "7", post: "7", actors, actorCount: actors.length, moreActors: false, itemCount: 1, item: "9", timeMs: 0n, read: false, ...more } as unknown as Notification;
}

const said = (n: Notification, t: Translate) => notificationText(n, (u) => names[u]!, t)?.replace(/[\u2068\u2069]/g, "");

test("a notification names one or two users, or how many others", () => {
  const like = NotificationKind.LIKE;
  expect(said(notification(like, ["1"]), en)).toBe("Ana liked your post");
  expect(said(notification(like, ["1", "2"]), en)).toBe("Ana and Bea liked your post");
  expect(said(notification(like, ["1", "2", "3"]), en)).toBe("Ana and 2 others liked your post");
  expect(said(notification(like, ["1", "2", "3"], { actorCount: 13, subjectKind: NotificationSubject.COMMENT }), en)).toBe("Ana and 12 others liked your comment");
  expect(said(notification(like, ["1", "2", "3"], { actorCount: 1000, moreActors: true }), en)).toBe("Ana and more than 999 others liked your post");
  expect(said(notification(like, ["1"], { moreActors: true }), en)).toBe("Ana liked your post");
  expect(said(notification(like, ["1", "2", "3"], { actorCount: 13 }), zh)).toBe("Ana和另外 12 人赞了你的动态");
  expect(said(notification(like, ["1", "2"]), zh)).toBe("Ana和Bea赞了你的动态");
});

test("posts are counted, in the plural of the language", () => {
  expect(said(notification(NotificationKind.POST, ["1"]), en)).toBe("Ana published a post");
  expect(said(notification(NotificationKind.POST, ["1"], { itemCount: 2 }), en)).toBe("Ana published 2 posts");
  expect(said(notification(NotificationKind.POST, ["1"], { itemCount: 2 }), zh)).toBe("Ana发布了 2 条动态");
});

test("each kind has a sentence and a switch; a newer one has none", () => {
  for (const kind of Object.values(NotificationKind).filter((k) => typeof k === "number" && k > 0) as NotificationKind[]) {
    expect(said(notification(kind, ["1"]), en)).toMatch(/^Ana /);
    expect(kinds.map(([k]) => k)).toContain(kind);
  }
  expect(said(notification(99 as NotificationKind, ["1"]), en)).toBeUndefined();
});

test("a notification leads to its post, or to the people", () => {
  expect(notificationPath(notification(NotificationKind.LIKE, ["1"]))).toBe("/feed/7");
  expect(notificationPath(notification(NotificationKind.FOLLOW, ["1"], { post: "0" }))).toBe("/u/1");
  expect(notificationPath(notification(NotificationKind.FOLLOW, ["1", "2"], { post: "0" }))).toBe("/u/1"); // the list of people has no followers
  expect(notificationPath(notification(NotificationKind.FRIEND_REQUEST, ["1", "2"], { post: "0" }))).toBe("/people");
});
