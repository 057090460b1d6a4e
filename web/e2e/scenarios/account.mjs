// One's own account: its picture, its password, its sessions, and signing out and in again.
import assert from "node:assert/strict";
import { confirm, message, password, picture, row, signIn, texts } from "../harness.mjs";

export default async function account(w) {
  const alice = await w.person("alice", "Alice");
  const bob = await w.user("bob", "Bob");
  await w.befriend(alice, bob);
  await w.send(bob, await w.direct(bob, alice), ["one", "two"]);
  const { page } = alice;
  await profilePicture(w, page);
  await signOutAndIn(w, alice);
  await sessions(w, alice);
  await changedPassword(w, alice);
}

async function profilePicture(w, page) {
  w.step("a profile picture; one that is gone gives way to the letter, and the profile is asked for; it is removed");
  await page.getByTestId("tab-settings").click();
  await page.locator(".settings input[type=file]").setInputFiles({ name: "me.png", mimeType: "image/png", buffer: await picture(page) });
  const face = page.locator(".rail .avatar");
  await face.locator("img").waitFor();
  let hidden = 0;
  await page.route("**/v1/media/**", (route) => (hidden++ === 0 ? route.fulfill({ status: 404 }) : route.continue()));
  const asked = page.waitForResponse((r) => r.url().endsWith("/GetUsers"));
  await face.locator("img").evaluate((img) => (img.src = `${img.src}&replaced`));
  await asked;
  await face.locator("img").waitFor({ state: "detached" });
  assert.match(await face.innerText(), /A/);
  await page.unroute("**/v1/media/**");
  await page.reload();
  await face.locator("img").waitFor();
  await page.getByRole("button", { name: "Remove picture" }).click();
  await face.locator("img").waitFor({ state: "detached" });
  await page.getByText("Add picture").waitFor();
}

async function signOutAndIn(w, { page, handle }) {
  w.step("who signs out leaves nothing on the device; who signs in again has it all");
  await page.getByTestId("tab-chats").click();
  await row(page, "Bob").click();
  await message(page, "two").waitFor();
  const before = await texts(page);
  await page.getByTestId("composer").fill("not for others to see");
  await page.getByTestId("tab-settings").click();
  await page.getByTestId("sign-out").click();
  await confirm(page, "Sign out");
  await page.locator("input[name=handle]").waitFor();
  assert.equal(await page.evaluate(() => Object.keys(localStorage).filter((k) => k.startsWith("draft/")).length), 0);
  await signIn(page, handle);
  await row(page, "Bob").click();
  await page.waitForFunction((n) => document.querySelectorAll('[data-testid="message"] .text').length === n, before.length);
  assert.deepEqual(await texts(page), before);
}

async function sessions(w, alice) {
  w.step("sessions are listed and ended: one of them, and all but this one");
  const { page } = alice;
  const others = [];
  for (let i = 0; i < 3; i++) {
    const other = await w.device(alice);
    await other.getByTestId("tab-chats").waitFor();
    others.push(other);
  }
  const signedOut = (p) => p.getByText("You were signed out: another of your devices ended this session").waitFor();
  const list = page.getByTestId("sessions").getByRole("listitem");
  await page.goto(`${w.url}/settings/sessions`);
  await page.waitForFunction(() => document.querySelectorAll('[data-testid="sessions"] li').length === 4);
  await list.filter({ hasText: "up to date" }).first().waitFor();
  await w.shot(page, "40-sessions");
  await list.filter({ hasNotText: "this device" }).nth(0).getByRole("button", { name: "Sign out", exact: true }).click();
  await confirm(page, "Sign out");
  await page.waitForFunction(() => document.querySelectorAll('[data-testid="sessions"] li').length === 3);
  await Promise.any(others.map(signedOut));
  await page.getByRole("button", { name: "Sign out all other devices" }).click();
  await confirm(page, "Sign out all other devices");
  await Promise.all(others.map(signedOut));
  await list.getByText("this device").waitFor();
  await page.waitForFunction(() => document.querySelectorAll('[data-testid="sessions"] li').length === 1);
}

async function changedPassword(w, alice) {
  w.step("the password is changed: a wrong one is refused, other devices are signed out");
  const { page } = alice;
  const other = await w.device(alice);
  await other.getByTestId("tab-chats").waitFor();
  await page.getByRole("link", { name: "Password" }).click();
  const form = page.getByRole("main", { name: "Password" });
  const change = async (old, fresh) => {
    await form.getByLabel("Current password").fill(old);
    await form.getByLabel("New password").fill(fresh);
    await form.getByRole("button", { name: "Change password" }).click();
  };
  await change("not the password", "quite another password");
  await form.getByText("The current password is wrong.").waitFor();
  await w.shot(page, "41-password");
  await change(password, "quite another password");
  await form.getByText("The password was changed.").waitFor();
  await other.getByText("You were signed out").waitFor();
  await signIn(other, alice.handle);
  await other.getByText("Handle or password is wrong.").waitFor();
  await signIn(other, alice.handle, "quite another password");
  await other.getByTestId("tab-chats").waitFor();
}
