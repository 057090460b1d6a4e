// Long lists: of all rows, those near the view are in the page, and the keyboard leads to each.
import assert from "node:assert/strict";
import { atRest, desktop, inView, openPanel, panel, phone, row } from "../harness.mjs";
import { Crowd } from "../crowd.mjs";

const chats = 300;
const members = 700;

export default async function crowd(w) {
  const server = await w.ownServer();
  const c = new Crowd(server.url, server.apiKey());
  const alice = await w.person("alice", "Alice");
  const users = await c.users(members);
  const group = await c.group(alice.id, "Everybody", users);
  await c.write(users.slice(0, chats), alice.id);
  const { page } = alice;
  const keys = page.keyboard;
  const rows = page.locator(".conversations li");
  const focused = (selector, text) => page.waitForFunction(([s, t]) => document.activeElement?.matches(s) && document.activeElement.closest("li").textContent.includes(t), [selector, text]);
  const size = async (list) => {
    const n = await list.count();
    assert.ok(n > 0 && n < 60, `${n} rows in the page`);
  };

  w.step("the list of chats, by keyboard");
  await page.waitForFunction((n) => document.querySelector(".conversations li")?.getAttribute("aria-setsize") === String(n), chats + 1);
  await size(rows);
  await page.getByRole("searchbox").focus();
  await keys.press("ArrowDown");
  await focused(".row", "hello from 1");
  await keys.press("End");
  await page.waitForFunction((n) => document.activeElement?.closest("li")?.getAttribute("aria-posinset") === String(n), chats + 1);
  await size(rows);
  await keys.press("ArrowUp");
  await page.waitForFunction((n) => document.activeElement?.closest("li")?.getAttribute("aria-posinset") === String(n), chats);
  await keys.press("PageUp");
  await page.waitForFunction((n) => document.activeElement?.closest("li")?.getAttribute("aria-posinset") === String(n), chats - 10);
  await w.shot(page, "51-many-chats");
  await keys.press("Home");
  await focused(".row", "hello from 1");
  await keys.press("Enter");
  await inView(page, "hello from 1");

  w.step("a search finds a chat that was not in the page");
  await page.getByRole("searchbox").fill("Person 287");
  await row(page, "Person 287").click();
  await inView(page, "hello from 287");
  await page.getByRole("searchbox").fill("");

  w.step("on a phone, who leaves a chat is back in the list where they were");
  await page.setViewportSize(phone);
  await page.goto(`${w.url}/`);
  await page.waitForFunction((n) => document.querySelector(".conversations li")?.getAttribute("aria-setsize") === String(n), chats + 1); // else it is too short
  await page.locator(".conversations").evaluate((box) => (box.scrollTop = 9_000));
  const far = rows.filter({ hasText: "hello from 142" });
  await atRest(far);
  await far.click();
  await inView(page, "hello from 142");
  await page.getByRole("button", { name: "Back" }).click();
  await far.waitFor();
  await focused(".row", "hello from 142");
  await page.setViewportSize(desktop);

  w.step("the members of a group come page by page");
  await page.goto(`${w.url}/c/${group}`);
  const pages = new Set(); // a page may be read again, when the group or the connection changes
  page.on("request", (r) => r.url().endsWith("ListMembers") && pages.add(r.postData()));
  await openPanel(page);
  const list = panel(page).locator(".member-list");
  await list.locator("li").nth(10).waitFor();
  assert.equal(pages.size, 1);
  await size(list.locator("li"));
  assert.equal(await list.locator("li").first().getAttribute("aria-setsize"), String(members + 1));
  await w.shot(page, "52-many-members");
  for (let last = 0; last < members + 1; ) {
    last = await list.evaluate(async (box) => {
      box.scrollTop = box.scrollHeight;
      await new Promise((resolve) => requestAnimationFrame(resolve));
      return Number([...box.querySelectorAll("li")].at(-1)?.getAttribute("aria-posinset"));
    });
  }
  assert.equal(pages.size, Math.ceil((members + 1) / 200));
  await size(list.locator("li"));
}
