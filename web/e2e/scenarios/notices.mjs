// System notices: on the list of all users without their doing, unread, read, and muted in place of the composer.
import assert from "node:assert/strict";
import { Crowd } from "../crowd.mjs";
import { message, openPanel, panel, row } from "../harness.mjs";

export default async function notices(w) {
  const server = await w.ownServer();
  const c = new Crowd(server.url, server.apiKey());
  const [owner] = await c.users(1);
  const alice = await w.person("alice", "Alice");
  const carol = await w.person("carol", "Carol", { locale: "zh-CN" });
  const a = alice.page;
  w.step("a notice reaches who is there, and who was before it");
  const { id } = await c.as(owner, "chat.v1.ChatService/CreateGroup", { title: "System notices", channel: true, notices: "NOTICES_EVERYBODY", key: "all" });
  await c.say(owner, id, "The service is down on Sunday");
  for (const page of [a, carol.page]) {
    await page.reload(); // a connected user follows a new channel of notices within minutes
    await row(page, "System notices").getByTestId("unread").getByText("1").waitFor();
  }
  await c.say(owner, id, "It is back");
  await row(a, "System notices").getByTestId("unread").getByText("2").waitFor();
  await row(carol.page, "System notices").getByText("系统通知", { exact: true }).waitFor({ state: "attached" });
  await w.shot(carol.page, "85-notices-list");
  w.step("read and muted, without a composer, a reaction or a way out");
  await row(a, "System notices").click();
  await message(a, "It is back").click({ button: "right" });
  await a.getByRole("menuitem", { name: "Forward" }).waitFor();
  assert.equal(await a.getByRole("menuitem", { name: "React" }).count(), 0);
  await a.keyboard.press("Escape");
  await a.getByTestId("composer").waitFor({ state: "detached" });
  await a.getByRole("button", { name: "Mute", exact: true }).click();
  await a.getByRole("button", { name: "Unmute", exact: true }).waitFor();
  await openPanel(a);
  assert.equal(await panel(a).getByRole("button", { name: "Leave channel" }).count(), 0);
  await w.shot(a, "86-notices");
}
