// Deleting for oneself, on all devices and offline, and messages that disappear.
import assert from "node:assert/strict";
import { confirm, log, message, openPanel, panel, phone, row, say, texts } from "../harness.mjs";

const gone = (page, text) => message(page, text).waitFor({ state: "detached" });

export default async function deleting(w) {
  const alice = await w.person("alice", "Alice");
  const bob = await w.person("bob", "Bob");
  const [a, b] = [alice.page, bob.page];
  const chat = await w.direct(alice, bob);
  await w.send(alice, chat, ["one", "two", "three", "four"]);
  const other = await w.device(bob, { viewport: phone, hasTouch: true });
  await row(a, "Bob").click();
  for (const page of [b, other]) {
    await row(page, "Alice").click();
    await message(page, "four").waitFor();
  }

  w.step("delete one for me, offline: it is gone here, then on the other device, and stays with the other user");
  await b.context().setOffline(true);
  await message(b, "two").click({ button: "right" });
  await b.getByRole("menuitem", { name: "Delete for me" }).click();
  await confirm(b, "Delete for me");
  await gone(b, "two");
  await b.context().setOffline(false);
  await gone(other, "two");

  w.step("delete several");
  await message(b, "three").click({ button: "right" });
  await b.getByRole("menuitem", { name: "Select" }).click();
  await b.getByRole("checkbox", { name: "Alice: four" }).check();
  await w.shot(b, "93-delete-several");
  await b.getByTestId("select-bar").getByRole("button", { name: "Delete for me" }).click();
  await confirm(b, "Delete for me");
  await gone(other, "four");
  assert.deepEqual(await texts(b), ["one"]);
  await row(b, "Alice").getByText("one").waitFor(); // the last message of the list
  await b.reload();
  await message(b, "one").waitFor();
  assert.deepEqual(await texts(b), ["one"]);
  assert.deepEqual(await texts(a), ["one", "two", "three", "four"]);

  w.step("delete the chat: it comes back with a new message, and only that");
  await openPanel(b);
  await panel(b).getByRole("button", { name: "Delete chat" }).click();
  await w.shot(b, "94-delete-chat");
  await confirm(b, "Delete chat");
  await row(b, "Alice").waitFor({ state: "detached" });
  await other.getByLabel("Back").click();
  await row(other, "Alice").waitFor({ state: "detached" });
  await say(a, "still there?");
  for (const page of [b, other]) {
    await row(page, "Alice").click();
    await message(page, "still there?").waitFor();
    assert.deepEqual(await texts(page), ["still there?"]);
  }

  w.step("clear the history: the chat stays");
  await openPanel(b);
  await panel(b).getByRole("button", { name: "Clear history" }).click();
  await confirm(b, "Clear history");
  await gone(other, "still there?");
  await row(b, "Alice").waitFor();
  await message(a, "still there?").waitFor();

  w.step("messages disappear at their time, without a word from the server");
  await openPanel(a);
  await panel(a).getByTestId("retention").selectOption({ label: "after 1 hour" });
  await panel(a).getByRole("button", { name: "Let messages disappear" }).click();
  await w.shot(a, "95-disappearing");
  await confirm(a, "Let messages disappear");
  await log(a).getByText("You set messages to disappear after 1 hour").waitFor();
  await log(b).getByText("Alice set messages to disappear after 1 hour").waitFor();
  await say(a, "read this soon");
  await b.clock.install();
  await b.reload();
  await message(b, "read this soon").waitFor();
  await b.context().setOffline(true);
  await b.clock.fastForward("01:00:01");
  await b.clock.runFor(2_000);
  await gone(b, "read this soon");
  await w.shot(b, "96-disappeared");
}
