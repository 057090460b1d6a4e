// An official account's operators, and the labels of its followers, to which a broadcast goes.
import assert from "node:assert/strict";
import { Crowd } from "../crowd.mjs";
import { confirm, dialog, phone } from "../harness.mjs";

export default async function followers(w) {
  const server = await w.ownServer();
  const c = new Crowd(server.url, server.apiKey());
  const shop = await w.person("shop", "Corner Shop");
  const bob = await w.person("bob", "Bob Baker");
  const [alice, carol] = [await w.user("alice", "Alice"), await w.user("carol", "Carol")];
  const { channel } = await c.as(shop.id, "account.v1.AdminService/PutOfficialAccount", { user: shop.id, handle: "cornershop" });
  const manage = `${server.url}/u/${shop.id}/manage`;
  const s = shop.page;
  await s.goto(manage);

  await operators(w, s, bob, manage);

  w.step("nobody follows yet, and then two do");
  await s.getByRole("tab", { name: "Followers" }).click();
  await s.getByText("Nobody follows this account yet.").waitFor();
  for (const user of [alice, carol]) await w.call("chat.v1.ChatService/Join", { conversation: channel }, user.token);
  await s.reload();
  await labels(w, s);
  await broadcast(w, s);

  w.step("on a phone, in Chinese");
  const p = await w.device(shop, { locale: "zh-CN", viewport: phone, hasTouch: true, isMobile: true });
  await p.getByTestId("tab-chats").waitFor();
  await p.goto(manage);
  await p.getByRole("tab", { name: "关注者" }).click();
  await p.getByRole("checkbox", { name: "Alice" }).check();
  await w.shot(p, "94-followers-phone");
  await p.getByRole("tab", { name: "运营人员" }).click();
  await p.getByRole("button", { name: "添加运营人员" }).click();
  await p.getByRole("button", { name: "添加运营人员" }).last().scrollIntoViewIfNeeded();
  await w.shot(p, "95-operators-phone");
  const body = await p.getByRole("main").evaluate((e) => [...e.querySelectorAll("*")].filter((x) => x.getBoundingClientRect().right > innerWidth).map((x) => x.textContent));
  assert.deepEqual(body, []); // nothing is cut off

  w.step("a label is deleted");
  await s.getByRole("tab", { name: "Followers" }).click();
  await s.getByRole("combobox", { name: "Show" }).selectOption("gold");
  await s.getByRole("button", { name: "Options: gold" }).click();
  await s.getByRole("menuitem", { name: "Delete label" }).click();
  await confirm(s, "Delete label");
  await s.getByTestId("follower").nth(1).waitFor();
  assert.deepEqual(await s.locator(".follower").allInnerTexts(), ["Alice", "Carol"]);
  assert.equal(await s.getByRole("combobox", { name: "Show" }).count(), 0); // without a label, all are shown
}

const operator = (page, name) => page.getByTestId("operator").filter({ hasText: name });

/** An admin adds an operator, who sees the page but not what changes its operators. Then he is an admin, and then neither. */
async function operators(w, s, bob, manage) {
  w.step("an operator is added");
  const b = bob.page;
  await b.goto(manage);
  await b.getByText("You don't manage this account.").waitFor();
  await s.getByRole("tab", { name: "Operators" }).click();
  await s.getByText("Nobody else acts for this account yet.").waitFor();
  await s.getByRole("button", { name: "Add operators" }).click();
  await s.getByRole("tabpanel").getByRole("searchbox").fill(bob.handle);
  await s.getByRole("tabpanel").getByRole("checkbox", { name: "Bob Baker" }).check();
  await s.getByRole("button", { name: "Add operators" }).last().click();
  await operator(s, "Bob Baker").getByText("Operator", { exact: true }).waitFor();
  await b.reload();
  await b.getByRole("tab", { name: "Operators" }).click();
  await b.getByText("Only admins change this list.").waitFor();
  assert.equal(await b.getByTestId("operator").getByRole("button").count(), 0);
  assert.equal(await b.getByRole("button", { name: "Add operators" }).count(), 0);

  w.step("he becomes an admin, and is removed while he writes");
  await operator(s, "Bob Baker").getByRole("button", { name: "Options: Bob Baker" }).click();
  await s.getByRole("menuitem", { name: "Make admin" }).click();
  await operator(s, "Bob Baker").getByText("Admin", { exact: true }).waitFor();
  await w.shot(s, "93-operators");
  await b.reload();
  await b.getByRole("tab", { name: "Operators" }).click();
  await b.getByRole("button", { name: "Add operators" }).waitFor();
  await operator(s, "Bob Baker").getByRole("button", { name: "Options: Bob Baker" }).click();
  await s.getByRole("menuitem", { name: "Remove from operators" }).click();
  await confirm(s, "Remove from operators");
  await s.getByText("Nobody else acts for this account yet.").waitFor();
  await b.getByTestId("operator").getByRole("button").click();
  await b.getByRole("menuitem", { name: "Make operator" }).click();
  await b.getByRole("alert").getByText("Only operators of this account can do that.").waitFor();
  await b.reload();
  await b.getByText("You don't manage this account.").waitFor();
}

/** Followers are labelled with the keyboard alone; then the label is renamed. */
async function labels(w, s) {
  w.step("a new label for a follower, with the keyboard");
  await s.getByRole("tab", { name: "Followers" }).click();
  assert.ok(await s.getByRole("button", { name: "Label 0 followers" }).isDisabled());
  await s.getByRole("checkbox", { name: "Alice" }).focus();
  await s.keyboard.press("Space");
  const button = s.getByRole("button", { name: "Label 1 follower" });
  await button.focus();
  await s.keyboard.press("Enter");
  await dialog(s).getByLabel("New label").waitFor();
  await s.keyboard.type("vip");
  await s.keyboard.press("Enter");
  await dialog(s).getByRole("checkbox", { name: "vip", checked: true }).waitFor();
  await w.shot(s, "93-labels");
  await s.keyboard.press("Escape");
  await dialog(s).waitFor({ state: "detached" });
  await s.waitForFunction(() => document.activeElement?.textContent === "Label 1 follower");
  assert.deepEqual(await s.locator(".follower").allInnerTexts(), ["Alice\nvip", "Carol"]);

  w.step("a label that some of the selected have, and its rename");
  await s.getByRole("button", { name: "Select all shown" }).click();
  await s.getByRole("button", { name: "Label 2 followers" }).click();
  assert.equal(await dialog(s).getByRole("checkbox", { name: "vip" }).evaluate((e) => e.indeterminate), true);
  await s.keyboard.press("Escape");
  await s.getByRole("combobox", { name: "Show" }).selectOption("vip");
  await s.getByTestId("follower").filter({ hasText: "Carol" }).waitFor({ state: "detached" });
  await s.getByRole("button", { name: "Options: vip" }).click();
  await s.getByRole("menuitem", { name: "Rename label" }).click();
  await dialog(s).getByLabel("Name of the label").fill("gold");
  await dialog(s).getByRole("button", { name: "Save" }).click();
  await dialog(s).waitFor({ state: "detached" });
  await s.getByTestId("follower").filter({ hasText: "gold" }).waitFor();
  assert.deepEqual(await s.locator(".follower").allInnerTexts(), ["Alice\ngold"]);
  await w.shot(s, "93-followers");
}

/** A broadcast to a label reaches those who have it. */
async function broadcast(w, s) {
  w.step("a broadcast to those with the label");
  await s.getByRole("tab", { name: "Broadcasts" }).click();
  await s.getByLabel("Message to followers").fill("Gold only");
  await s.getByRole("combobox", { name: "To" }).selectOption("Followers with labels");
  assert.ok(await s.getByRole("button", { name: "Send broadcast" }).isDisabled()); // to nobody yet, and so not to everybody
  await s.getByRole("checkbox", { name: "gold" }).check();
  await s.getByRole("button", { name: "Send broadcast" }).click();
  const row = s.getByTestId("broadcast");
  await row.getByText("Sent", { exact: false }).first().waitFor();
  await row.getByText("to gold").waitFor();
  await row.getByText("1 reached, 0 failed").waitFor();
}
