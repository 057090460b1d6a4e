// What people see of each other: away, do not disturb, a status of one's own, and invisible.
import assert from "node:assert/strict";
import { confirm, dialog, message, openPanel, picture, row } from "../harness.mjs";

export default async function presence(w) {
  const alice = await w.person("alice", "Alice");
  const bob = await w.person("bob", "Bob");
  await w.befriend(alice, bob);
  await w.send(alice, await w.direct(alice, bob), ["hello"]);
  const [a, b] = [alice.page, bob.page];
  await a.getByTestId("tab-chats").click();
  await row(a, "Bob").click();
  const title = (text) => a.locator(".chat-title").getByText(text, { exact: true });
  await title("online").waitFor();

  w.step("a window in the background is away");
  const show = (visibility) =>
    b.evaluate((v) => {
      Object.defineProperty(document, "visibilityState", { value: v, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, visibility);
  await show("hidden");
  await title("away").waitFor();
  await row(a, "Bob").locator(".dot.away").waitFor();
  await show("visible");
  await title("online").waitFor();

  w.step("a status of one's own, set with the keyboard, is seen until it is cleared");
  await b.goto(`${w.url}/settings/profile`);
  const editor = b.getByTestId("status-editor");
  await editor.getByLabel("Status", { exact: true }).fill("at the beach");
  await editor.getByRole("button", { name: "Choose an emoji for the status" }).click();
  await editor.getByRole("searchbox").fill("palm tree");
  await editor.getByRole("gridcell", { name: "palm tree" }).click();
  await editor.getByLabel("Clear after").selectOption("4 hours");
  await editor.getByLabel("Status", { exact: true }).press("Enter");
  await title("online · 🌴 at the beach").waitFor();
  await editor.getByText(/^Until /).waitFor();
  await w.shot(b, "36-status-editor");
  await w.shot(a, "36-status-seen");
  await b.reload();
  await b.locator('[data-testid="status-editor"] input').and(b.locator('[value="at the beach"]')).waitFor(); // it is the account's

  w.step("do not disturb is seen");
  await editor.getByLabel("Availability").selectOption("do not disturb");
  await title("do not disturb · 🌴 at the beach").waitFor();
  await row(a, "Bob").locator(".dot.doNotDisturb").waitFor();
  await w.shot(a, "37-do-not-disturb");

  w.step("who is invisible is offline to others, and typing is not shown");
  await editor.getByLabel("Availability").selectOption("invisible");
  await title("do not disturb · 🌴 at the beach").waitFor({ state: "detached" });
  assert.equal(await row(a, "Bob").locator(".dot").count(), 0);
  await editor.getByLabel("Availability").selectOption("Automatic (online or away)");
  await title("online · 🌴 at the beach").waitFor();
  await editor.getByRole("button", { name: "Clear status" }).click();
  await title("online").waitFor();

  w.step("a message is scheduled, and sent at its time; another one is cancelled");
  await b.getByTestId("tab-chats").click();
  await row(b, "Alice").click();
  await openPanel(b);
  const scheduled = b.getByTestId("scheduled");
  for (const text of ["not this one", "good morning"]) {
    await scheduled.getByRole("button", { name: "Write a message to send later" }).click();
    await scheduled.getByLabel("Message").fill(text);
    await scheduled.getByRole("button", { name: "Send later" }).click();
    await scheduled.getByText(text).waitFor();
  }
  await w.shot(b, "38-scheduled");
  await scheduled.getByRole("listitem").filter({ hasText: "not this one" }).getByRole("button", { name: "Don't send" }).click();
  await confirm(b, "Don't send");
  await scheduled.getByText("not this one").waitFor({ state: "detached" });
  const { messages } = await w.call("chat.v1.ChatService/ListScheduled", {}, bob.token);
  assert.deepEqual(messages.map((m) => m.content.text), ["good morning"]);
  await scheduled.getByRole("button", { name: "Edit" }).click();
  await scheduled.getByLabel("Message").fill("good morning, Alice");
  await scheduled.getByRole("button", { name: "Save" }).click();
  await scheduled.getByRole("listitem").filter({ hasText: "good morning, Alice" }).waitFor();
  await b.getByTestId("file").setInputFiles({ name: "sunrise.png", mimeType: "image/png", buffer: await picture(b) });
  await dialog(b).getByLabel("Caption").fill("at seven");
  await dialog(b).getByLabel("Send later").check();
  await dialog(b).getByLabel("When to send it").waitFor();
  await w.shot(b, "39-schedule-file");
  await dialog(b).getByRole("button", { name: "Send later" }).click();
  await dialog(b).waitFor({ state: "hidden" });
  await scheduled.getByRole("listitem").filter({ hasText: "at seven" }).waitFor();
  const later = (await w.call("chat.v1.ChatService/ListScheduled", {}, bob.token)).messages;
  assert.deepEqual(later.map((m) => m.content.text ?? m.content.image.caption).sort(), ["at seven", "good morning, Alice"]);
  for (const { id } of later) await w.call("chat.v1.ChatService/UpdateScheduled", { id, sendMs: Date.now() + 2000 }, bob.token);
  await message(a, "good morning, Alice").waitFor();
  await message(a, "at seven").getByTestId("image").waitFor();
}
