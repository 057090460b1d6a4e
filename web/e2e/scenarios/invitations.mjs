// Consent: a stranger cannot add somebody to a group. They are invited, and accept or decline.
import assert from "node:assert/strict";
import { message, row, say } from "../harness.mjs";

export default async function invitations(w) {
  const alice = await w.person("alice", "Alice");
  const bob = await w.person("bob", "Bob");
  const stranger = (title) => w.call("chat.v1.ChatService/CreateGroup", { title, members: [bob.id] }, alice.token);
  const [a, b] = [alice.page, bob.page];

  w.step("a stranger's group is an invitation, of which only the title is read");
  const { id: hikers } = await stranger("Hikers");
  await w.send(alice, hikers, ["before Bob agreed"]);
  const invitation = (title) => b.getByTestId("invitation").filter({ hasText: title });
  await invitation("Hikers").getByText("Alice invites you").waitFor();
  await b.getByTestId("tab-chats").getByText("1", { exact: true }).waitFor();
  assert.equal(await row(b, "Hikers").count(), 0);
  await w.shot(b, "81-invitation");
  await b.reload();

  w.step("accepted with the keyboard, it opens as a chat without what was said before");
  await invitation("Hikers").getByRole("button", { name: "Accept" }).focus();
  await b.keyboard.press("Enter");
  await b.getByRole("main", { name: "Hikers" }).waitFor();
  await invitation("Hikers").waitFor({ state: "detached" });
  await row(a, "Hikers").click();
  await say(a, "welcome");
  await message(b, "welcome").waitFor();
  assert.equal(await message(b, "before Bob agreed").count(), 0);

  w.step("declined on one device, it is gone on the other");
  const phone = await w.device(bob, { viewport: { width: 390, height: 780 }, hasTouch: true, isMobile: true, locale: "zh-CN" });
  await stranger("Spam");
  await invitation("Spam").waitFor();
  const onPhone = phone.getByTestId("invitation").filter({ hasText: "Spam" });
  await onPhone.getByText("Alice邀请你加入").waitFor();
  await w.shot(phone, "82-invitation-phone-zh");
  await onPhone.getByRole("button", { name: "拒绝" }).tap();
  await onPhone.waitFor({ state: "detached" });
  await invitation("Spam").waitFor({ state: "detached" });
  assert.equal(await row(b, "Spam").count(), 0);
}
