// Folders of one's own above the list of chats, the same on all devices.
import assert from "node:assert/strict";
import { dialog, phone, row } from "../harness.mjs";

export default async function folders(w) {
  const alice = await w.person("alice", "Alice");
  const [bob, carol] = [await w.user("bob", "Bob"), await w.user("carol", "Carol")];
  for (const who of [bob, carol]) await w.send(who, await w.direct(who, alice), [`hello from ${who.name}`]);
  const { page } = alice;
  const other = await w.device(alice, { viewport: phone, hasTouch: true, isMobile: true, locale: "zh-CN" });
  const chips = (p) => p.getByTestId("folder-chip");
  const chip = (p, name) => chips(p).filter({ hasText: name });

  w.step("a chat is put into a new folder by its menu, with the keyboard");
  await row(page, "Bob").focus();
  await page.keyboard.press("Shift+F10");
  await page.getByRole("menuitem", { name: "Add to folder" }).press("Enter");
  await dialog(page).getByRole("textbox", { name: "New folder" }).fill("Family");
  await page.keyboard.press("Enter");
  await dialog(page).getByRole("checkbox", { name: "Family", checked: true }).waitFor();
  await w.shot(page, "86-folders-of-chat");
  await page.keyboard.press("Escape");

  w.step("the folder lists its chats, here and on the other device");
  await chip(page, "Family").click();
  await row(page, "Carol").waitFor({ state: "detached" });
  await row(page, "Bob").waitFor();
  await chip(other, "Family").tap();
  await row(other, "Carol").waitFor({ state: "detached" });
  await w.shot(other, "87-folder-phone-zh");

  w.step("folders are made, renamed, ordered and deleted");
  await page.getByRole("button", { name: "Folders", exact: true }).click();
  await dialog(page).getByRole("textbox", { name: "New folder" }).fill("Work");
  await page.keyboard.press("Enter");
  await chip(other, "Work").waitFor();
  await dialog(page).getByRole("textbox", { name: "New folder" }).fill("Work");
  await page.keyboard.press("Enter");
  await dialog(page).getByText("You have a folder of this name.").waitFor();
  const name = dialog(page).getByTestId("folder").nth(1).getByRole("textbox");
  await name.fill("Office");
  await name.press("Enter");
  await chip(other, "Office").waitFor();
  await dialog(page).getByRole("button", { name: "Move Office up" }).click();
  await other.waitForFunction(() => [...document.querySelectorAll('[data-testid="folder-chip"]')].map((e) => e.textContent).join() === "Office,Family");
  await w.shot(page, "88-folders");
  await dialog(page).getByRole("button", { name: "Delete Family" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "Delete folder" }).click();
  await chip(other, "Family").waitFor({ state: "detached" });
  await row(other, "Carol").waitFor(); // the chosen folder is gone: all chats are listed
  await page.keyboard.press("Escape");
  assert.equal(await chips(page).count(), 1);
  await page.reload();
  await chip(page, "Office").waitFor();
}
