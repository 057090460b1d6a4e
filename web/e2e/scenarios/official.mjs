// An official account: marked, followed, with a menu and replies; its operator writes rules and a broadcast, and takes that back.
import assert from "node:assert/strict";
import { Crowd } from "../crowd.mjs";
import { dialog, message, phone } from "../harness.mjs";

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
  await toLabels(w, c, server, shop, alice);
}

/** A broadcast to those with one of several labels, in waves of one's own. What is wrong cannot be sent. */
async function toLabels(w, c, server, shop, alice) {
  w.step("a broadcast to several labels, in waves of one's own");
  const s = shop.page;
  const [bob, carol] = [await w.user("bob", "Bob"), await w.user("carol", "Carol")];
  const { channel } = await c.as(shop.id, "chat.v1.OfficialAccountService/GetOfficialAccount", { user: shop.id });
  for (const u of [bob, carol]) await w.call("chat.v1.ChatService/Join", { conversation: channel }, u.token);
  const label = (label, user) => c.as(shop.id, "chat.v1.OfficialAccountService/SetFollowerLabel", { user: shop.id, followers: [user.id], label });
  await label("regular", alice);
  await label("wholesale", bob);
  for (let i = 1; i <= 9; i++) await label(`region ${i}`, carol);
  await s.reload();
  const form = s.getByRole("tabpanel", { name: "Broadcasts" });
  const send = form.getByRole("button", { name: "Send broadcast" });
  await form.getByLabel("Message to followers").fill("New prices");
  await form.getByRole("combobox", { name: "To" }).selectOption("Followers with labels");
  await form.getByText("Choose at least one label.").waitFor();
  assert.ok(await send.isDisabled());
  for (let i = 1; i <= 9; i++) await form.getByRole("checkbox", { name: `region ${i}` }).check();
  await form.getByRole("checkbox", { name: "regular" }).check();
  await form.getByText("A broadcast goes to at most 10 labels.").waitFor();
  assert.ok(await form.getByRole("checkbox", { name: "wholesale" }).isDisabled());
  for (let i = 1; i <= 9; i++) await form.getByRole("checkbox", { name: `region ${i}` }).uncheck();
  await form.getByRole("checkbox", { name: "wholesale" }).check();
  await form.getByRole("checkbox", { name: "Send in waves" }).check();
  const percents = form.getByLabel("Percent of followers reached after each wave, separated by commas");
  await percents.fill("50, 20");
  await form.getByText("at most 10, with the 100 that is added").waitFor();
  assert.ok(await send.isDisabled());
  await percents.fill("5, 25, 60");
  await form.getByLabel("Time between waves").fill("8");
  await form.getByRole("combobox", { name: "Unit" }).selectOption("days");
  await form.getByText("Waves are at most 7 days apart.").waitFor();
  assert.ok(await send.isDisabled());
  await form.getByRole("combobox", { name: "Unit" }).selectOption("minutes");
  await form.getByText("4 waves: 5% → 25% → 60% → 100%. The last begins 24 minutes after the first, or later.").waitFor();
  await send.scrollIntoViewIfNeeded();
  await w.shot(s, "91-official-labels-waves");
  await send.click();
  const row = s.getByTestId("broadcast").first();
  await row.getByText("to regular or wholesale").waitFor();
  await row.getByText("of 4").waitFor();
  const { broadcasts } = await c.as(shop.id, "chat.v1.OfficialAccountService/ListBroadcasts", { user: shop.id });
  assert.deepEqual(broadcasts[0].audience.labels.sort(), ["regular", "wholesale"]);
  assert.deepEqual([broadcasts[0].waves, broadcasts[0].waveSeconds], [[5, 25, 60, 100], 480]);

  w.step("in one wave, those with either label get it, and others do not");
  await percents.fill("100");
  await form.getByText("1 wave: all chosen followers at once.").waitFor();
  await form.getByLabel("Message to followers").fill("Open on Sunday");
  await send.click();
  await s.getByTestId("broadcast").filter({ hasText: "Open on Sunday" }).getByText("2 reached, 0 failed").waitFor(); // of three followers
  await message(alice.page, "Open on Sunday").waitFor();

  w.step("on a phone, in Chinese");
  const p = await w.device(shop, { locale: "zh-CN", viewport: phone, hasTouch: true, isMobile: true });
  await p.getByTestId("tab-chats").waitFor();
  await p.goto(`${server.url}/u/${shop.id}/manage`);
  await p.getByRole("combobox", { name: "发送给" }).selectOption("有指定标签的关注者");
  await p.getByRole("checkbox", { name: "wholesale" }).check();
  await p.getByRole("checkbox", { name: "分批发送" }).check();
  await p.getByText("共 3 批：1% → 10% → 100%。最后一批最早在第一批开始2小时之后发送。").waitFor();
  await p.getByRole("button", { name: "群发", exact: true }).scrollIntoViewIfNeeded();
  await w.shot(p, "91-official-labels-waves-phone");
}
