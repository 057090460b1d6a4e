// A channel: made, opened by its link before one follows it, followed, read and reacted to, muted, managed, and left; on a phone, too.
import assert from "node:assert/strict";
import { choose, confirm, dialog, member, message, openPanel, panel, phone, row, say, showTab } from "../harness.mjs";

export default async function channels(w) {
  const alice = await w.person("alice", "Alice");
  const bob = await w.person("bob", "Bob", { colorScheme: "dark", viewport: phone });
  const carol = await w.person("carol", "Carol", { locale: "zh-CN" });
  const pages = { a: alice.page, b: bob.page, c: carol.page };
  const handle = w.handle("news");
  await made(w, pages, handle);
  await followed(w, pages, handle);
  await read(w, pages);
  await found(w, pages, handle);
  await promoted(w, pages);
  await removed(w, pages, handle);
  await left(w, pages, bob);
}

const followers = (page, n) => page.locator(".chat-title").getByText(n === 1 ? "1 follower" : `${n} followers`, { exact: true }).waitFor();
const preview = (page) => page.getByTestId("channel-preview");

async function made(w, { a }, handle) {
  w.step("made with a description and a handle");
  await a.getByRole("button", { name: "New group" }).click();
  await dialog(a).getByRole("radio", { name: "Channel" }).check();
  await dialog(a).getByLabel("Channel name").fill("Trail news 🥾");
  await dialog(a).getByLabel("Description").fill("Which paths are open.\nEvery Friday.");
  await dialog(a).getByLabel("Public handle").fill("12345");
  await w.shot(a, "80-new-channel");
  await dialog(a).getByRole("button", { name: "Create" }).click();
  await dialog(a).getByRole("alert").waitFor(); // only digits
  await dialog(a).getByLabel("Public handle").fill(handle);
  await dialog(a).getByRole("button", { name: "Create" }).click();
  await a.getByRole("main", { name: "Trail news" }).waitFor();
  await followers(a, 1);
  await say(a, "The north path is open");
  await message(a, "The north path is open").waitFor();
  assert.equal(await row(a, "Trail news").count(), 1); // the second try made no second channel
}

async function followed(w, { a, b }, handle) {
  w.step("opened by its link, and followed");
  await openPanel(a);
  await panel(a).getByRole("button", { name: "Channel link" }).click();
  const link = await a.getByTestId("join-link").inputValue();
  assert.ok(link.endsWith(`/c/${handle}`), link);
  await b.goto(link);
  await preview(b).filter({ hasText: "Trail news" }).filter({ hasText: "Every Friday." }).filter({ hasText: "1 follower" }).waitFor();
  await w.shot(b, "81-channel-preview-phone");
  await b.getByRole("button", { name: "Follow channel" }).click();
  await message(b, "The north path is open").waitFor();
  await b.getByTestId("composer").waitFor({ state: "detached" });
  await followers(b, 2);
  await b.getByRole("button", { name: "Back" }).click();
  await row(b, "Trail news").waitFor();
  assert.equal(await row(b, "Trail news").getByTestId("unread").count(), 0); // what was said before is read
  await say(a, "The south path is closed");
  await row(b, "Trail news").getByTestId("unread").getByText("1").waitFor();
}

async function read(w, { a, b }) {
  w.step("read, reacted to, and muted in place of the composer");
  await row(b, "Trail news").click();
  await message(b, "The south path is closed").click({ button: "right" });
  await b.getByRole("menuitem", { name: "Reply" }).waitFor({ state: "detached" });
  await b.getByRole("menuitem", { name: "React" }).click();
  await dialog(b).getByRole("button", { name: "👍" }).first().click();
  await message(a, "The south path is closed").getByTestId("reactions").getByText("👍").waitFor();
  await b.getByRole("button", { name: "Mute", exact: true }).click();
  await b.getByRole("button", { name: "Unmute", exact: true }).waitFor();
  await w.shot(b, "82-channel-follower-phone");
  await b.getByRole("button", { name: "Unmute", exact: true }).click();
  await b.getByRole("button", { name: "Mute", exact: true }).waitFor();
}

async function found(w, { c }, handle) {
  w.step("found by its handle, in Chinese");
  await c.getByRole("searchbox").fill(`@${handle}`);
  await c.getByRole("link", { name: `查找频道 @${handle}` }).click();
  await preview(c).filter({ hasText: "2 位关注者" }).waitFor();
  await w.shot(c, "83-channel-preview");
  await c.getByRole("button", { name: "关注频道" }).click();
  await message(c, "The north path is open").waitFor();
}

async function promoted(w, { a, b }) {
  w.step("a follower becomes an admin, and posts");
  await panel(a).getByRole("button", { name: "Close" }).click();
  await openPanel(a); // followers come without an event: the panel reads them again
  await showTab(a, "3 followers");
  await choose(a, member(a, "Bob"), "Make admin");
  await b.getByTestId("composer").waitFor();
  await member(a, "Bob").getByText("admin", { exact: true }).waitFor();
  await say(b, "A bridge is out");
  await message(a, "A bridge is out").waitFor();
  await showTab(a, "Manage");
  await w.shot(a, "84-channel-manage");
}

async function removed(w, { a, c }, handle) {
  w.step("a follower who is removed sees no more of it");
  await showTab(a, "3 followers");
  await choose(a, member(a, "Carol"), "Remove");
  await confirm(a, "Remove");
  await member(a, "Carol").waitFor({ state: "detached" });
  await followers(a, 2);
  await preview(c).waitFor(); // as somebody who does not follow
  await row(c, "Trail news").waitFor({ state: "detached" });
  assert.ok(c.url().includes("/c/"), handle);
}

async function left(w, { a, b }, bob) {
  w.step("left on one device, and gone on the other");
  await choose(a, member(a, "Bob"), "Make member");
  await b.getByRole("button", { name: "Mute", exact: true }).waitFor();
  const other = await w.device(bob);
  await row(other, "Trail news").click();
  await openPanel(other);
  await panel(other).getByRole("button", { name: "Leave channel" }).click();
  await confirm(other, "Leave channel");
  await other.locator(".closed-note").waitFor(); // a member's leaving is an entry, and what was said before stays
  await b.locator(".closed-note").waitFor();
}
