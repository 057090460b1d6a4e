// Each place has an address: it is opened, shared, reloaded, and left by Back.
import assert from "node:assert/strict";
import { inView, member, message, openPanel, panel, phone, row, signIn } from "../harness.mjs";

export default async function routes(w) {
  const alice = await w.person("alice", "Alice");
  const bob = await w.user("bob", "Bob");
  await w.befriend(alice, bob);
  const direct = await w.direct(bob, alice);
  // The first entry of a conversation says that it was opened: line 7 is the eighth.
  await w.send(bob, direct, Array.from({ length: 90 }, (_, i) => `line ${i + 1}`));
  const { id: group } = await w.call("chat.v1.ChatService/CreateGroup", { title: "Hikers", members: [bob.id] }, alice.token);
  await backAndReload(w, alice, { direct, group });
  await sharedMessage(w, alice, direct);
  await sharedPerson(w, alice, bob);
  await nowhere(w, alice, bob);
}

const at = (page, pathname) => page.waitForURL((u) => u.pathname === pathname);

async function backAndReload(w, { page }, { direct, group }) {
  w.step("on a phone, Back closes the panel, then the chat");
  await page.setViewportSize(phone);
  await row(page, "Hikers").click();
  await at(page, `/c/${group}`);
  await openPanel(page);
  await at(page, `/c/${group}/info`);
  await w.shot(page, "20-phone-panel");
  await member(page, "Bob").getByRole("button", { name: "Options" }).click();
  await w.shot(page, "21-phone-menu");
  await page.getByRole("menuitem", { name: "Message" }).click();
  await page.getByRole("main", { name: "Bob" }).waitFor();
  await at(page, `/c/${direct}`);
  await page.goBack(); // to where one came from
  await panel(page).waitFor();
  await page.reload();
  await panel(page).getByText("Bob").waitFor();
  await page.goBack();
  await panel(page).waitFor({ state: "hidden" });
  await at(page, `/c/${group}`);
  await page.goBack();
  await row(page, "Hikers").waitFor();
  await at(page, "/");

  w.step("what closes a panel is no step of its own: Back does not open it again");
  await row(page, "Hikers").click();
  await openPanel(page);
  await panel(page).getByRole("button", { name: "Close" }).click();
  await panel(page).waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Back" }).click();
  await at(page, "/");
  await page.goto(`${w.url}/c/${group}/info`); // opened from elsewhere: closing leads to the chat, not out of the app
  await panel(page).getByRole("button", { name: "Close" }).click();
  await at(page, `/c/${group}`);
  await page.getByRole("button", { name: "Back" }).click();
  await at(page, "/");
}

async function sharedMessage(w, alice, direct) {
  w.step("who opens the address of a message signs in first, and then sees it");
  const page = await w.page();
  await page.goto(`${w.url}/c/${direct}/m/8`);
  await signIn(page, alice.handle);
  await inView(page, "line 7");
  await at(page, `/c/${direct}/m/8`);
  await page.reload();
  await inView(page, "line 7");
  await w.shot(page, "22-message-by-address");
  const link = page.getByTestId("message").filter({ has: page.getByText("line 9", { exact: true }) }).getByRole("link");
  assert.equal(await link.getAttribute("href"), `/c/${direct}/m/10`);
}

async function sharedPerson(w, alice, bob) {
  w.step("a person, by handle and by id");
  const { page } = alice;
  await page.setViewportSize({ width: 1180, height: 760 });
  for (const who of [bob.handle, bob.id]) {
    await page.goto(`${w.url}/u/${who}`);
    await page.getByRole("main", { name: "Bob" }).getByText(`@${bob.handle}`).waitFor();
  }
  await w.shot(page, "23-person");
  await page.getByRole("main", { name: "Bob" }).getByRole("button", { name: "Message" }).click();
  await page.getByTestId("composer").waitFor();
  await page.goto(`${w.url}/u/nobody_of_this_name`);
  await page.getByText("No one found.").waitFor();
}

async function nowhere(w, alice, bob) {
  w.step("an address that shows nothing says so");
  const { page } = alice;
  const { id } = await w.call("chat.v1.ChatService/CreateGroup", { title: "Not hers", members: [] }, bob.token);
  await page.goto(`${w.url}/c/${id}`);
  await page.getByText("This chat does not exist, or you are not in it.").waitFor();
  await page.goto(`${w.url}/nothing/here`);
  await page.getByText("There is no page at this address.").waitFor();
  await w.shot(page, "24-no-page");
  await page.getByRole("link", { name: "Go to chats" }).click();
  await row(page, "Hikers").waitFor();
}
