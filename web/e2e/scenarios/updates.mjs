// Replies, edits, reactions, pins and recalls: by menu, by keyboard and offline, on both sides.
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
