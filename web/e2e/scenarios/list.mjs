// The list of chats: muted, archived, and found again.
import assert from "node:assert/strict";
import { message, openPanel, panel, row } from "../harness.mjs";

export default async function list(w) {
  const alice = await w.person("alice", "Alice");
  const bob = await w.user("bob", "Bob");
  const carol = await w.user("carol", "Carol");
  const { page } = alice;
  const chat = await w.direct(bob, alice);
  await w.send(carol, await w.direct(carol, alice), ["hello from Carol"]);
  await w.send(bob, chat, ["hello from Bob"]);
  const title = (text) => page.waitForFunction((t) => document.title === t, text);

  w.step("a chat in which nobody has written yet says so, and waves");
  const eve = await w.user("eve", "Eve");
  await w.direct(alice, eve);
  await row(page, "Eve").click();
  await page.getByText("No messages yet. Say hello to Eve!").waitFor();
  await w.shot(page, "49-empty-chat");
  await page.getByRole("button", { name: "Wave" }).click();
  await message(page, "👋").waitFor();
  await page.getByText("No messages yet.").waitFor({ state: "detached" });

  w.step("a muted chat is not counted");
  await title("(2) Rialto");
  await row(page, "Bob").click();
  await message(page, "hello from Bob").waitFor();
  await openPanel(page);
  await panel(page).getByRole("button", { name: "Mute", exact: true }).click();
  await row(page, "Bob").getByText("Muted").waitFor({ state: "attached" });
  await row(page, "Carol").click();
  await message(page, "hello from Carol").waitFor();
  await title("Rialto");
  await w.send(bob, chat, ["psst"]);
  await row(page, "Bob").getByTestId("unread").filter({ hasText: "1" }).waitFor();
  assert.equal(await page.title(), "Rialto");
  await w.shot(page, "37-muted-chat");

  w.step("a right click marks as read, pins and unpins");
  const menu = (name) => page.getByRole("menuitem", { name, exact: true });
  await row(page, "Bob").click({ button: "right" });
  await w.shot(page, "44-context-menu");
  await menu("Mark as read").click();
  await row(page, "Bob").getByTestId("unread").waitFor({ state: "detached" });
  await row(page, "Bob").focus();
  await page.keyboard.press("Shift+F10");
  await menu("Pin").click();
  await row(page, "Bob").getByText("Pinned").waitFor({ state: "attached" });
  await row(page, "Bob").click({ button: "right" });
  await menu("Unpin").click();
  await row(page, "Bob").getByText("Pinned").waitFor({ state: "detached" });

  w.step("a chat is marked as unread on all devices, filtered, and read by opening it");
  const other = await w.device(alice);
  await row(page, "Eve").click();
  await row(page, "Bob").click({ button: "right" });
  await menu("Mark as unread").click();
  await row(page, "Bob").getByTestId("marked").waitFor();
  await row(other, "Bob").getByTestId("marked").waitFor();
  const filter = (name) => page.getByRole("group", { name: "Show" }).getByRole("button", { name, exact: true });
  await filter("Unread").click();
  await row(page, "Eve").waitFor({ state: "detached" });
  await row(page, "Bob").waitFor();
  await w.shot(page, "98-marked-unread");
  await filter("Groups").click();
  await page.getByText("No chats here.").waitFor();
  await filter("All").click();
  await row(page, "Bob").click();
  await row(page, "Bob").getByTestId("marked").waitFor({ state: "detached" });
  await row(other, "Bob").getByTestId("marked").waitFor({ state: "detached" });

  w.step("an archived chat leaves the list, and comes back");
  await row(page, "Bob").click();
  await openPanel(page);
  await panel(page).getByRole("button", { name: "Unmute" }).click();
  await panel(page).getByRole("button", { name: "Archive" }).click();
  await page.getByRole("button", { name: "Archived (1)" }).waitFor();
  await row(page, "Bob").waitFor({ state: "detached" });
  await page.getByRole("searchbox").fill("bo");
  await row(page, "Bob").waitFor(); // a search finds it
  await page.getByRole("searchbox").fill("");
  await page.getByRole("button", { name: "Archived (1)" }).click();
  await row(page, "Bob").waitFor();
  await w.shot(page, "38-archived");
  await panel(page).getByRole("button", { name: "Unarchive" }).click();
  await page.getByRole("button", { name: "Archived (1)" }).waitFor({ state: "detached" });
  await row(page, "Bob").waitFor();

  w.step("messages are saved for oneself, on all devices");
  await row(page, "Bob").first().click();
  await message(page, "hello from Bob").click({ button: "right" });
  await menu("Add to saved messages").click();
  await row(page, "Saved messages").waitFor();
  await page.getByRole("button", { name: "Saved messages" }).click();
  await page.getByRole("main", { name: "Saved messages" }).waitFor();
  await message(page, "hello from Bob").waitFor();
  await w.shot(page, "99-saved-messages");
  await openPanel(page);
  await panel(page).getByRole("button", { name: "Clear history" }).waitFor();
  for (const name of ["Add friend", "Follow", "Block"]) assert.equal(await panel(page).getByRole("button", { name, exact: true }).count(), 0, name); // nobody befriends or blocks oneself
}
