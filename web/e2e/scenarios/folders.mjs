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

  await manyFolders(w, alice, [page, other]);
}

/** Many folders are in one line, which scrolls by the wheel, by the keyboard and under a finger. The button beside it is always seen. */
async function manyFolders(w, alice, pages) {
  w.step("many folders stay in one line");
  const names = ["Family", "Climbing and hiking", "学校", "Neighbours", "Book club", "旅行计划"];
  for (const name of names) await w.call("chat.v1.ChatService/CreateFolder", { name }, alice.token);
  const [page, other] = pages;
  for (const p of pages) await p.getByTestId("folder-chip").filter({ hasText: "旅行计划" }).waitFor();
  for (const width of [390, 1080, 1440]) {
    await page.setViewportSize({ width, height: 760 });
    await oneLine(page);
    await w.shot(page, `88-folders-${width}`);
  }
  await oneLine(other);
  await w.shot(other, "88-folders-phone-zh");

  w.step("the line scrolls by the wheel, and follows the focus");
  const line = page.locator(".chat-filters > .filters");
  await line.hover();
  await page.mouse.wheel(0, 400);
  await page.waitForFunction(() => document.querySelector(".chat-filters > .filters").scrollLeft > 0);
  await page.getByRole("button", { name: "All", exact: true }).focus();
  await page.waitForFunction(() => document.querySelector(".chat-filters > .filters").scrollLeft === 0);
  for (let i = 0; i < 11; i++) await page.keyboard.press("Tab"); // five filters and seven folders
  await page.keyboard.press("Enter");
  const last = page.getByTestId("folder-chip").last();
  assert.equal(await last.getAttribute("aria-pressed"), "true");
  const [inside, around] = [await last.boundingBox(), await line.boundingBox()];
  assert.ok(inside.x >= around.x && inside.x + inside.width <= around.x + around.width - 12, "the chosen folder is in view, and not faded");
  await w.shot(page, "88-folders-scrolled");
}

/** All chips have one height above the page, and the button for folders is in view. */
async function oneLine(page) {
  const tops = await page.locator(".chat-filters .chip").evaluateAll((all) => [...new Set(all.map((e) => Math.round(e.getBoundingClientRect().top)))]);
  assert.ok(Math.max(...tops) - Math.min(...tops) <= 2, `chips begin at ${tops}`);
  const button = await page.locator(".chat-filters > .icon").boundingBox();
  const pane = await page.locator(".pane-list").boundingBox();
  assert.ok(button.x >= pane.x && button.x + button.width <= pane.x + pane.width, "the button for folders is in view");
  assert.equal(await page.locator(".pane-list").evaluate((e) => e.scrollWidth > e.clientWidth), false);
}
