// The life of a group: made, renamed, joined by its link and after being asked, managed, and left.
import assert from "node:assert/strict";
import { choose, confirm, dialog, log, member, message, openPanel, panel, picture, row, say, showTab } from "../harness.mjs";

export default async function groups(w) {
  const alice = await w.person("alice", "Alice 爱丽丝");
  const bob = await w.person("bob", "Bob", { colorScheme: "dark" });
  const carol = await w.person("carol", "Carol");
  await w.befriend(alice, bob);
  const pages = { a: alice.page, b: bob.page, c: carol.page };
  await made(w, pages);
  await described(w, pages);
  const link = await joinedByLink(w, pages);
  await removed(w, pages, link);
  await joinedAfterApproval(w, pages);
  await keptShorter(w, pages);
  await leftAndBanned(w, pages);
}

const size = (page, n) => page.locator(".chat-title").getByText(n === 1 ? "1 member" : `${n} members`, { exact: true }).waitFor();
const door = (page) => page.getByRole("dialog", { name: "Join this group?" });

async function made(w, { a, b }) {
  w.step("made with a picture, written in, pinned");
  await a.getByRole("button", { name: "New group" }).click();
  await dialog(a).getByLabel("Group name").fill("周末爬山");
  await dialog(a).getByRole("checkbox", { name: "Bob" }).check();
  const face = { name: "face.png", mimeType: "image/png", buffer: await picture(a) };
  await dialog(a).getByTestId("new-group-picture").setInputFiles(face);
  await dialog(a).locator(".avatar img").waitFor();
  await dialog(a).getByRole("button", { name: "Remove picture" }).click();
  await dialog(a).locator(".avatar.blank").waitFor();
  await dialog(a).getByTestId("new-group-picture").setInputFiles(face);
  await a.route("**/UpdateGroup", (route) => route.abort(), { times: 1 });
  await dialog(a).getByRole("button", { name: "Create" }).click();
  await dialog(a).getByRole("alert").waitFor();
  await w.shot(a, "05-new-group");
  await dialog(a).getByRole("button", { name: "Create" }).click(); // the group is there: only its picture is set again
  await a.getByRole("main", { name: "周末爬山" }).waitFor();
  await say(a, "带上水和防晒霜 ☀️");
  await row(b, "周末爬山").locator(".avatar img").waitFor();
  assert.equal(await row(b, "周末爬山").count(), 1);
  await row(b, "周末爬山").click();
  await message(b, "防晒霜").waitFor();
  await openPanel(b);
  await panel(b).getByRole("button", { name: "Pin", exact: true }).click();
  await panel(b).getByRole("button", { name: "Unpin" }).waitFor();
  await w.shot(b, "06-group-info");
}

async function described(w, { a, b }) {
  w.step("renamed, with an announcement, without its picture, and with another");
  await openPanel(a);
  await showTab(a, "Manage");
  await panel(a).getByLabel("Group name").fill("周日爬山 ⛰️");
  await panel(a).getByLabel("Announcement").fill("八点在西门集合");
  await panel(a).getByRole("button", { name: "Save" }).click();
  await b.locator(".announcement").filter({ hasText: "八点在西门集合" }).waitFor();
  await row(b, "周日爬山").waitFor();
  await panel(a).getByRole("button", { name: "Remove picture" }).click();
  await row(b, "周日爬山").locator(".avatar").getByText("周").waitFor();
  await panel(a).getByRole("button", { name: "Remove picture" }).waitFor({ state: "detached" });
  await panel(a).getByTestId("group-picture").setInputFiles({ name: "face.png", mimeType: "image/png", buffer: await picture(a) });
  await row(b, "周日爬山").locator(".avatar img").waitFor();
}

async function joinedByLink(w, { a, c }) {
  w.step("joined by its link, once one said so");
  await showTab(a, "2 members");
  await panel(a).getByRole("button", { name: "Join link" }).click();
  const link = await a.getByTestId("join-link").inputValue();
  await c.goto(link);
  await door(c).getByTestId("join-preview").filter({ hasText: "周日爬山 ⛰️" }).filter({ hasText: "2 members" }).waitFor();
  await w.shot(c, "15-join-link");
  await c.keyboard.press("Escape");
  await door(c).waitFor({ state: "hidden" });
  await c.goto(link);
  await door(c).getByRole("button", { name: "Cancel" }).click();
  await door(c).waitFor({ state: "hidden" });
  await c.goto("about:blank"); // so that the app starts with the address
  await c.goto(link.replace("/join/", "/#join=")); // of an earlier version
  await door(c).getByTestId("join-preview").filter({ hasText: "周日爬山 ⛰️" }).waitFor();
  await door(c).getByRole("button", { name: "Cancel" }).click();
  await door(c).waitFor({ state: "hidden" });
  await size(a, 2); // none of them lets one in
  await c.goto(link);
  await door(c).getByRole("button", { name: "Join", exact: true }).click();
  await c.getByRole("main", { name: "周日爬山 ⛰️" }).waitFor();
  await size(a, 3);
  return link;
}

async function removed(w, { a, c }, link) {
  w.step("an admin is made, a member removed, a link revoked");
  await choose(a, member(a, "Bob"), "Make admin");
  await member(a, "Bob").getByText("admin", { exact: true }).waitFor();
  await w.shot(a, "11-group-admin");
  await choose(a, member(a, "Carol"), "Remove");
  await confirm(a, "Remove");
  await c.locator(".closed-note").waitFor();
  await c.goto(link); // whom an admin removed, a link does not let in
  await door(c).getByRole("button", { name: "Join", exact: true }).click();
  await door(c).getByText("You were removed from this group").waitFor();
  await c.keyboard.press("Escape");
  await panel(a).getByRole("button", { name: "Revoke link" }).click();
  await confirm(a, "Revoke link");
  await a.getByTestId("join-link").waitFor({ state: "hidden" });
  await c.goto(link);
  await door(c).getByText("This link was revoked").waitFor();
  await c.keyboard.press("Escape");
}

async function joinedAfterApproval(w, { a, c }) {
  w.step("joined after approval");
  await showTab(a, "Manage");
  await panel(a).getByLabel("Who may join").selectOption({ label: "Anyone, after approval" });
  await log(a).getByText("You changed how people join").waitFor();
  // The panel follows a moment later than the message. A link that is made before would be taken away again.
  await a.waitForFunction(() => [...document.querySelectorAll("select")].some((s) => s.selectedOptions[0]?.textContent === "Anyone, after approval"));
  await showTab(a, "2 members");
  await panel(a).getByRole("button", { name: "Join link" }).click();
  await panel(a).getByText("can ask to join").waitFor();
  await c.goto(await a.getByTestId("join-link").inputValue());
  await door(c).getByTestId("join-preview").filter({ hasText: "周日爬山 ⛰️" }).filter({ hasText: "2 members" }).waitFor();
  await door(c).getByRole("button", { name: "Join", exact: true }).click();
  await c.getByText("Your request was sent").waitFor();
  await panel(a).getByRole("button", { name: "Accept" }).click(); // the panel was open: it is told
  await row(c, "周日爬山").click();
  await c.getByTestId("composer").waitFor();
}

async function keptShorter(w, { a, c }) {
  w.step("messages disappear after a shorter time, and then after a longer one");
  await showTab(a, "Manage");
  await panel(a).getByTestId("retention").selectOption({ label: "after 30 days" });
  await panel(a).getByRole("button", { name: "Let messages disappear" }).click();
  await dialog(a).getByText("be undone").waitFor();
  await w.shot(a, "14-shorter-retention");
  await confirm(a, "Let messages disappear");
  await log(a).getByText("disappear after 30 days").waitFor();
  await log(c).getByText("disappear after 30 days").waitFor();
  await panel(a).getByTestId("retention").selectOption({ label: "after 90 days" }); // longer: nothing is lost, nothing is asked
  await panel(a).getByRole("group", { name: "Messages disappear" }).getByRole("button", { name: "Save" }).click();
  await log(c).getByText("disappear after 90 days").waitFor();
}

async function leftAndBanned(w, { a, b, c }) {
  w.step("only admins write; one leaves, one is banned and let in again");
  await panel(a).getByRole("checkbox", { name: "Only admins can write" }).click();
  await c.locator(".closed-note").waitFor();
  await w.shot(a, "13-group-open-by-approval");
  await panel(b).getByRole("button", { name: "Leave group" }).click();
  await confirm(b, "Leave group");
  await b.locator(".closed-note").waitFor();
  await size(a, 2);
  await showTab(a, "2 members");
  await choose(a, member(a, "Carol"), "Ban");
  await confirm(a, "Ban");
  await showTab(a, "Manage");
  const bans = panel(a).getByTestId("bans");
  await bans.getByText("Carol").waitFor();
  await log(c).getByText("banned you").waitFor();
  await w.shot(a, "16-banned");
  await bans.getByRole("button", { name: "Unban" }).click();
  await bans.waitFor({ state: "hidden" });
}
