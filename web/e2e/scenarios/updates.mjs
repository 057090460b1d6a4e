// Replies, edits, reactions, pins and recalls: by menu, by keyboard and offline, on both sides.
import assert from "node:assert/strict";
import { confirm, log, message, openPanel, panel, phone, row, say } from "../harness.mjs";

const menuOf = (page, text) => message(page, text).getByRole("button", { name: /^Options/ });

export default async function updates(w) {
  const { page: alice } = await w.person("alice", "Alice");
  const { page: bob, handle } = await w.person("bob", "Bob", { viewport: phone, hasTouch: true });
  await alice.getByTestId("tab-people").click();
  await alice.getByRole("searchbox").fill(handle);
  await alice.getByTestId("person").filter({ hasText: "Bob" }).getByRole("button", { name: "Message" }).click();
  await say(alice, "Lunch at twelve?");
  await say(alice, "A secret that was meant for Carol");
  await bob.getByTestId("tab-chats").click();
  await row(bob, "Alice").click();
  await message(bob, "A secret").waitFor();

  w.step("reply, with the context menu");
  await message(alice, "Lunch at twelve?").click({ button: "right" });
  await alice.getByRole("menuitem", { name: "Reply", exact: true }).click();
  await say(alice, "Or at one?");
  await message(bob, "Or at one?").locator(".quote").filter({ hasText: "Lunch at twelve?" }).waitFor();

  w.step("the menu's button shows under the pointer, and the menu opens by keys alone");
  const button = menuOf(alice, "A secret");
  const shown = () => message(alice, "A secret").locator(".more").evaluate((e) => getComputedStyle(e).opacity);
  await alice.getByTestId("composer").hover();
  assert.equal(await shown(), "0");
  await message(alice, "A secret").hover();
  assert.equal(await shown(), "1");
  await button.click();
  await alice.getByRole("menuitem", { name: "Reply", exact: true }).waitFor();
  await w.shot(alice, "89-message-menu");
  await alice.keyboard.press("Escape");
  await alice.getByRole("menuitem").first().waitFor({ state: "detached" });
  await alice.getByTestId("composer").focus();
  for (let presses = 0; presses < 40 && !(await button.evaluate((e) => e === document.activeElement)); presses++) await alice.keyboard.press("Shift+Tab");
  assert.equal(await shown(), "1", "the Shift+Tab keys reach the button of the newest messages, which shows");
  await alice.keyboard.press("Space");
  await alice.keyboard.press("ArrowDown");
  await alice.keyboard.press("Escape");
  await alice.getByRole("menuitem").first().waitFor({ state: "detached" });
  assert.equal(await button.evaluate((e) => e === document.activeElement), true, "the focus returns to the button");

  w.step("edit, which the quote follows");
  await menuOf(alice, "Lunch at twelve?").first().focus();
  await alice.keyboard.press("Enter");
  await alice.getByRole("menuitem", { name: "Edit" }).click();
  await alice.getByTestId("editor").fill("Lunch at half past twelve?");
  await alice.keyboard.press("Enter");
  await message(bob, "Lunch at half past twelve?").filter({ hasText: "edited" }).waitFor();
  await message(bob, "Or at one?").locator(".quote").filter({ hasText: "half past twelve" }).waitFor();

  w.step("react, and take the reaction back");
  await message(bob, "Or at one?").click({ button: "right" });
  await bob.getByRole("menuitem", { name: "React" }).click();
  await bob.getByRole("dialog").getByRole("button", { name: "👍", exact: true }).first().click();
  await message(alice, "Or at one?").getByRole("button", { name: "👍, 1" }).click();
  await message(bob, "Or at one?").getByRole("button", { name: "👍, 2", pressed: true }).waitFor();
  await w.shot(bob, "90-reactions-phone");
  await message(bob, "Or at one?").getByRole("button", { name: "👍, 2" }).click();
  await message(alice, "Or at one?").getByRole("button", { name: "👍, 1", pressed: true }).waitFor();

  w.step("pin");
  await message(bob, "Or at one?").click({ button: "right" });
  await bob.getByRole("menuitem", { name: "Pin message" }).click();
  await message(alice, "Or at one?").getByRole("img", { name: "Pinned message" }).waitFor();

  await openPanel(alice);
  await panel(alice).getByRole("region", { name: "Pinned messages" }).getByText("Or at one?").waitFor();
  await panel(alice).getByRole("button", { name: "Close" }).click();

  w.step("delete for everyone, offline: it is gone at once here, and there with the network");
  await alice.context().setOffline(true);
  await menuOf(alice, "A secret").focus();
  await alice.keyboard.press("Enter");
  await alice.getByRole("menuitem", { name: "Delete for everyone" }).click();
  await confirm(alice, "Delete for everyone");
  await message(alice, "This message was deleted.").waitFor();
  await alice.context().setOffline(false);
  await message(bob, "This message was deleted.").waitFor();
  await message(bob, "A secret").waitFor({ state: "hidden" });
  await w.shot(alice, "91-updates-desktop");

  w.step("after a reload nothing of it is left, and all is as it was");
  await bob.reload();
  await message(bob, "This message was deleted.").waitFor();
  await message(bob, "Or at one?").getByRole("button", { name: "👍, 1" }).waitFor();
  await message(bob, "Lunch at half past twelve?").filter({ hasText: "edited" }).waitFor();
  if ((await log(bob).innerText()).includes("secret")) throw new Error("the deleted text is shown after a reload");
}
