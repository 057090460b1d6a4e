// An official account: marked, followed, with a menu and replies; its operator writes rules and a broadcast, and takes that back.
import assert from "node:assert/strict";
import { Crowd } from "../crowd.mjs";
import { dialog, message } from "../harness.mjs";

export default async function official(w) {
  const server = await w.ownServer();
  const c = new Crowd(server.url, server.apiKey());
  const shop = await w.person("shop", "Corner Shop");
  const alice = await w.person("alice", "Alice", { locale: "zh-CN" });
  const [s, a] = [shop.page, alice.page];
  await c.as(shop.id, "account.v1.AdminService/PutOfficialAccount", { user: shop.id, handle: "cornershop" });

  w.step("the operator writes a menu, a welcome and a rule");
  await s.goto(`${server.url}/u/${shop.handle}`);
  await s.getByRole("link", { name: "Manage" }).click();
  await s.getByRole("tab", { name: "Menu" }).click();
  const form = s.getByRole("tabpanel", { name: "Menu" });
  await form.getByRole("button", { name: "Add entry" }).click();
  await form.getByLabel("Title").fill("Hours");
  await form.getByLabel("Reply of the account", { exact: true }).fill("9 to 5");
  await form.getByRole("button", { name: "Add entry" }).click();
  const second = form.getByRole("group", { name: "Entry 2" });
  await second.getByLabel("Title").fill("More");
  await second.getByLabel("Action").selectOption("items");
  const item = second.getByRole("group", { name: "Item 1" });
  await item.getByLabel("Title").fill("Ask");
  await item.getByLabel("Action").selectOption("text");
  await item.getByLabel("Text that the user sends", { exact: true }).fill("where are you?");
  await form.getByRole("button", { name: "Save menu" }).click();
  await form.getByRole("button", { name: "Menu saved" }).waitFor();
  await s.getByRole("tab", { name: "Replies" }).click();
  const replies = s.getByRole("tabpanel", { name: "Replies" });
  await replies.getByLabel("Welcome to new followers").fill("Welcome!");
  await replies.getByRole("button", { name: "Add rule" }).click();
  await replies.getByLabel("Keywords, separated by commas").fill("where, 在哪");
  await replies.getByLabel("Reply", { exact: true }).fill("Main Street 1");
  await replies.getByRole("button", { name: "Save", exact: true }).click();
  await replies.getByRole("button", { name: "Saved", exact: true }).waitFor();

  w.step("a user follows, is welcomed, and uses the menu");
  await a.goto(`${server.url}/u/${shop.handle}`);
  await a.getByRole("img", { name: "官方账号" }).first().waitFor();
  await a.getByRole("button", { name: "发消息" }).click();
  await a.getByRole("toolbar", { name: "账号菜单" }).getByRole("button", { name: "关注" }).click();
  await message(a, "Welcome!").waitFor();
  await a.getByRole("button", { name: "Hours" }).click();
  await message(a, "9 to 5").waitFor();
  await a.getByRole("button", { name: "More" }).click();
  await a.getByRole("menuitem", { name: "Ask" }).click();
  await message(a, "Main Street 1").waitFor();
  const chats = a.getByTestId("conversation").filter({ hasText: "Corner Shop" });
  await chats.filter({ has: a.getByRole("img", { name: "官方账号" }) }).waitFor(); // the account
  await chats.filter({ hasText: "频道" }).waitFor(); // and its channel, of the same name
  await w.shot(a, "92-official-chat");

  w.step("a broadcast, its progress, and its recall");
  await s.getByRole("tab", { name: "Broadcasts" }).click();
  await s.getByLabel("Message to followers").fill("Everything must go");
  await s.getByRole("button", { name: "Send broadcast" }).click();
  await message(a, "Everything must go").waitFor();
  const row = s.getByTestId("broadcast");
  await row.getByText("1 reached, 0 failed").waitFor();
  await w.shot(s, "91-official-manage");
  await row.getByRole("button", { name: "Take back" }).click();
  await dialog(s).getByRole("button", { name: "Take back" }).click();
  await message(a, "Everything must go").waitFor({ state: "detached" });
  assert.equal(await message(a, "Welcome!").count(), 1);
}
