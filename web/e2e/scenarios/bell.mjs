// Notifications: what others do is merged and counted beside the chats, is read on all devices, and can be switched off by kind.
import assert from "node:assert/strict";
import { choose, phone } from "../harness.mjs";

const rows = (page) => page.getByTestId("notification");
const badge = (page) => page.getByTestId("tab-notifications").locator(".badge");

export default async function bell(w) {
  await w.ownServer();
  const ana = await w.person("ana", "Ana");
  const { page: a } = ana;
  const { page: b, ...bob } = await w.person("bob", "Bob");
  const others = [];
  for (const name of ["Carol", "Dan", "Eve"]) others.push(await w.user(name.toLowerCase(), name));
  const publish = (user, content) => w.call("feed.v1.FeedService/Publish", { clientPostId: crypto.randomUUID(), content }, user.token);
  const comment = (user, subject, content) => w.call("comment.v1.CommentService/CreateComment", { clientCommentId: crypto.randomUUID(), subjectKind: "SUBJECT_KIND_POST", subject, content }, user.token);

  w.step("an empty list says so");
  await a.getByTestId("tab-notifications").click();
  await a.getByText("No notifications yet.").waitFor();

  w.step("comments are one notification, and counted as they come");
  await a.getByTestId("tab-chats").click();
  const post = await publish(ana, { text: "By the lake" });
  await comment(others[0], post.id, { text: "Nice" });
  await badge(a).getByText("1", { exact: true }).waitFor();
  for (const u of [...others, bob]) await comment(u, post.id, { text: "Where?" });
  await w.call("account.v1.GraphService/Follow", { user: ana.id }, bob.token);
  await comment(bob, post.id, { text: "@Ana look", mentions: [{ start: 0, length: 4, user: ana.id }] });
  await w.call("account.v1.GraphService/RequestFriend", { user: ana.id }, others[1].token);
  await badge(a).getByText("4", { exact: true }).waitFor();
  await a.getByTestId("tab-notifications").click();
  await rows(a).nth(3).waitFor();
  assert.deepEqual((await rows(a).locator(".notification-text > span").allInnerTexts()).map((s) => s.replace(/[\u2068\u2069]/g, "")), [
    "Dan sent you a friend request", "Bob mentioned you in a comment", "Bob started following you", "Bob and 3 others commented on your post",
  ]);
  await w.shot(a, "96-notifications");

  w.step("names are completed in posts and comments, are links there, and stay in an edit");
  const names = b.getByTestId("mentions");
  await w.call("account.v1.GraphService/Follow", { user: others[2].id }, bob.token);
  await b.getByTestId("tab-feed").click();
  await b.getByRole("button", { name: "New post" }).click();
  const text = b.getByTestId("post-form").getByLabel("Text");
  await text.fill("");
  await text.pressSequentially("With @Ev");
  await names.getByRole("option", { name: "Eve" }).waitFor();
  await w.shot(b, "96-mention-in-post");
  await b.keyboard.press("Escape"); // closes the names, not the dialog
  await names.waitFor({ state: "detached" });
  await text.press("e");
  await names.getByRole("option", { name: "Eve" }).waitFor();
  await b.keyboard.press("Enter");
  await text.pressSequentially("on the hill");
  await text.press("Control+Enter");
  const hill = b.locator("section.feed").getByTestId("post").filter({ hasText: "on the hill" });
  await hill.getByRole("link", { name: "@Eve" }).waitFor();
  const mentionsOfEve = async () => ((await w.call("notification.v1.NotificationService/ListNotifications", {}, others[2].token)).notifications ?? []).filter((n) => n.kind === "NOTIFICATION_KIND_MENTION").length;
  while ((await mentionsOfEve()) === 0) await b.waitForFunction(() => true);
  await choose(b, hill, "Edit post");
  await text.press("End");
  await text.pressSequentially(" today");
  await text.press("Control+Enter");
  await hill.filter({ hasText: "today" }).getByRole("link", { name: "@Eve" }).waitFor();
  await hill.getByText("on the hill").click();
  const field = b.getByTestId("comment-form").locator("textarea");
  await field.pressSequentially("@Eve");
  await names.getByRole("option", { name: "Eve" }).click();
  await w.shot(b, "96-mention-in-comment");
  await field.pressSequentially("look");
  await field.press("Enter");
  await b.locator("main").getByTestId("comment").filter({ hasText: "look" }).getByRole("link", { name: "@Eve" }).waitFor();

  w.step("in Chinese, on a phone in the dark; one device reads, and the other learns it");
  const second = await w.device(ana, { locale: "zh-CN", viewport: phone, colorScheme: "dark", hasTouch: true, isMobile: true });
  await badge(second).getByText("4", { exact: true }).waitFor();
  await second.getByTestId("tab-notifications").click();
  await second.getByText(/Bob.*和另外 3 人评论了你的动态/).waitFor();
  await w.shot(second, "96-notifications-phone-dark");
  await second.getByRole("button", { name: "全部标为已读" }).click();
  await badge(a).waitFor({ state: "detached" });
  await a.locator(".notification.unread").first().waitFor({ state: "detached" });
  assert.equal(await rows(a).count(), 4);

  w.step("what is deleted is gone, and a notification leads to its post");
  await w.call("account.v1.GraphService/Unfollow", { user: ana.id }, bob.token);
  await comment(others[2], post.id, { text: "Again" });
  await badge(a).getByText("1", { exact: true }).waitFor();
  await a.getByText(/Eve.* commented on your post/).waitFor();
  assert.equal(await a.getByText("started following you").count(), 0);
  await a.getByText(/Eve.* commented on your post/).click();
  await a.locator(".post-page").getByText("By the lake").waitFor();

  w.step("a kind that is off produces nothing");
  await a.goto(`${w.url}/settings/notifications`);
  const comments = a.getByTestId("notification-kinds").getByLabel("Comments on my posts");
  await comments.uncheck();
  await w.shot(a, "96-notification-settings");
  while (!(await w.call("notification.v1.NotificationService/GetNotificationSettings", {}, ana.token)).off) await a.waitForFunction(() => true);
  await a.reload();
  await a.getByTestId("notification-kinds").locator("input:enabled").first().waitFor();
  assert.equal(await comments.isChecked(), false);
  await comment(others[1], post.id, { text: "Unheard" });
  assert.equal((await w.call("notification.v1.NotificationService/UnreadNotifications", {}, ana.token)).count, 1);

  w.step("a bell on a profile brings new posts");
  await b.goto(`${w.url}/feed/u/${ana.handle}`);
  await b.getByRole("button", { name: "Notify me of new posts" }).click();
  await b.getByRole("button", { name: "Do not notify me of new posts any more" }).waitFor();
  await w.shot(b, "96-notification-profile");
  await publish(ana, { text: "At the sea" });
  await publish(ana, { text: "And back" });
  await b.getByTestId("tab-notifications").click();
  await b.getByText(/Ana.* published 2 posts/).waitFor();
  await b.getByRole("button", { name: "Mark all as read" }).click();
  await b.locator(".notification.unread").waitFor({ state: "detached" });
}
