// How people stand with each other: a request is declined, somebody followed, blocked and unblocked, and presence hidden.
import assert from "node:assert/strict";
import { choose, confirm, dialog, message, person, row, say } from "../harness.mjs";

export default async function people(w) {
  const alice = await w.person("alice", "Alice");
  const bob = await w.person("bob", "Bob with a name that is rather long 很长的名字");
  const [a, b] = [alice.page, bob.page];
  await declined(w, a, b, bob);
  await followed(w, a, bob);
  await w.befriend(alice, bob);
  await presenceHidden(w, a, b, alice);
  await blocked(w, a, b);
}

async function declined(w, a, b, bob) {
  w.step("a request is declined, and can be made again");
  await a.getByTestId("tab-people").click();
  await a.getByRole("searchbox").fill(bob.handle);
  await person(a, "Bob").getByRole("button", { name: "Add friend" }).click();
  await person(a, "Bob").getByText("Requested").waitFor();
  await b.getByTestId("tab-people").click();
  await b.getByRole("heading", { name: "Requests" }).waitFor();
  await w.shot(b, "30-request");
  await person(b, "Alice").getByRole("button", { name: "Decline" }).click();
  await b.getByRole("heading", { name: "Requests" }).waitFor({ state: "detached" });
  await person(a, "Bob").getByRole("button", { name: "Add friend" }).waitFor();
}

async function followed(w, a, bob) {
  w.step("somebody is followed; a row stays one line at 1280 pixels");
  await choose(a, person(a, "Bob"), "Follow");
  await a.getByRole("searchbox").fill("");
  await a.getByRole("heading", { name: "Following" }).waitFor();
  await a.setViewportSize({ width: 1280, height: 800 });
  const tops = await person(a, "Bob").evaluate((row) => [...row.querySelectorAll(".avatar, .person-name, button")].map((e) => e.getBoundingClientRect()).map((r) => (r.top + r.bottom) / 2));
  assert.ok(Math.max(...tops) - Math.min(...tops) < 8, `the row wraps: ${tops}`);
  await w.shot(a, "31-people-1280");
  await a.goto(`${w.url}/u/${bob.handle}`);
  await a.getByRole("button", { name: "Unfollow" }).click();
  await a.getByRole("button", { name: "Follow", exact: true }).waitFor();
}

async function presenceHidden(w, a, b, alice) {
  w.step("who hides their presence is seen by nobody, until they show it again");
  await w.send(alice, await w.direct(alice, { id: await b.locator(".rail .avatar").getAttribute("data-user") }), ["hello"]);
  await b.getByTestId("tab-chats").click();
  await row(b, "Alice").click();
  const online = b.locator(".chat-title").getByText("online", { exact: true });
  await online.waitFor();
  await a.goto(`${w.url}/settings/privacy`);
  const viewers = a.getByRole("combobox", { name: "Who may see when I'm online" });
  await viewers.selectOption("No one");
  await online.waitFor({ state: "detached" });
  await a.reload();
  await viewers.and(a.locator("select").filter({ has: a.locator("option:checked", { hasText: "No one" }) })).waitFor(); // it is the account's
  await viewers.selectOption("Friends");
  await online.waitFor();
}

async function blocked(w, a, b) {
  w.step("blocking says what it ends, and that it cannot be written; unblocking lets write again");
  await a.getByTestId("tab-people").click();
  await choose(a, person(a, "Bob"), "Block");
  await dialog(a).getByText("no longer be friends").waitFor();
  await w.shot(a, "32-block");
  await confirm(a, "Block");
  await a.getByRole("heading", { name: "Blocked" }).waitFor();
  await a.getByTestId("tab-chats").click();
  await row(a, "Bob").click();
  await a.locator(".closed-note").getByText("You blocked Bob").waitFor();
  await say(b, "do you read this?");
  await b.getByTestId("outgoing").getByText("Not sent").waitFor();
  await w.shot(b, "33-refused");
  await b.getByTestId("outgoing").getByRole("button", { name: "Discard" }).click();
  await b.getByTestId("outgoing").waitFor({ state: "detached" });
  await a.getByTestId("tab-people").click();
  await person(a, "Bob").getByRole("button", { name: "Unblock" }).click();
  await a.getByRole("heading", { name: "Blocked" }).waitFor({ state: "detached" });
  await say(b, "and now?");
  await a.getByTestId("tab-chats").click();
  await message(a, "and now?").waitFor();
  assert.equal(await message(a, "do you read this?").count(), 0);
}
