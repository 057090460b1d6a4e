// Notifications of the browser: allowed by a click, shown by one window while nobody looks, and never with a text that was taken back.
import assert from "node:assert/strict";
import { phone } from "../harness.mjs";
import { notesOf, stub } from "../notes.mjs";

export default async function notifications(w) {
  const alice = await w.person("alice", "Alice");
  const bob = await w.person("bob", "Bob");
  const carol = await w.user("carol", "Carol");
  const page = bob.page;
  const context = page.context();
  await context.addInitScript(stub);
  await page.reload();
  const [withAlice, withCarol] = [await w.direct(alice, bob), await w.direct(carol, bob)];
  const { events, news } = notesOf(page);

  w.step("asked only after a click in the settings");
  await page.getByTestId("tab-settings").click();
  assert.deepEqual(await events(), []);
  await page.goto(`${w.url}/settings/notifications`);
  const toggle = page.getByRole("checkbox", { name: "Show notifications on this device" });
  await toggle.focus();
  await page.keyboard.press("Space");
  assert.deepEqual(await news(1), [["asked"]]);
  await page.getByRole("checkbox", { name: "Play a sound" }).waitFor();
  await w.shot(page, "83-notifications");

  w.step("nobody looks: one window of two shows the message, with a tone; a click opens it");
  const second = await w.window(context);
  await second.getByTestId("tab-chats").waitFor();
  for (const p of [page, second]) await p.evaluate(() => window.look(false));
  await w.send(alice, withAlice, ["dinner at seven?"]);
  assert.deepEqual(await news(1), [["shown", "Alice", "dinner at seven?"]]);
  assert.equal(await page.evaluate(() => localStorage.getItem("test-tones")), "2"); // the notes of one tone
  await page.evaluate(() => window.notes.at(-1).onclick());
  await page.waitForURL(`**/c/${withAlice}/m/*`);
  assert.deepEqual(await news(1), [["closed", "dinner at seven?"]]);

  w.step("a recalled message is closed, an edited one is shown as it is now, and what is read elsewhere goes");
  const { seq } = await w.call("chat.v1.ChatService/Send", { conversation: withAlice, clientMsgId: "a", content: { text: "secret canary" } }, alice.token);
  assert.deepEqual((await news(1))[0], ["shown", "Alice", "secret canary"]);
  await w.call("chat.v1.ChatService/Send", { conversation: withAlice, clientMsgId: "b", content: { edit: { target: { seq }, content: { text: "harmless" } } } }, alice.token);
  assert.deepEqual(await news(1), [["shown", "Alice", "harmless"]]);
  await w.call("chat.v1.ChatService/Send", { conversation: withAlice, clientMsgId: "c", content: { recall: { target: { seq } } } }, alice.token);
  assert.deepEqual(await news(1), [["closed", "harmless"]]);
  await w.send(carol, withCarol, ["read me elsewhere"]);
  await news(1);
  await w.call("chat.v1.ChatService/Mark", { conversation: withCarol, readSeq: 2 }, bob.token);
  assert.deepEqual(await news(1), [["closed", "read me elsewhere"]]);

  w.step("not for a chat in a window beside, nor a muted one, nor while not to be disturbed");
  await second.goto(`${w.url}/c/${withCarol}`);
  await second.getByTestId("composer").waitFor();
  await second.evaluate(() => window.look(true, true)); // it is seen, and another program has the keyboard
  await w.send(carol, withCarol, ["you see this"]);
  await second.getByTestId("message").filter({ hasText: "you see this" }).waitFor();
  await w.send(alice, withAlice, ["this is elsewhere"]);
  assert.deepEqual((await news(1))[0], ["shown", "Alice", "this is elsewhere"]);
  await w.call("chat.v1.ChatService/Configure", { conversation: withAlice, muted: true }, bob.token);
  await page.getByTestId("conversation").filter({ hasText: "Alice" }).getByText("Muted", { exact: true }).waitFor({ state: "attached" });
  await w.send(alice, withAlice, ["muted now"]);
  await page.getByTestId("conversation").filter({ hasText: "muted now" }).waitFor({ state: "attached" });
  await w.call("chat.v1.ChatService/Configure", { conversation: withAlice, muted: false }, bob.token);
  await page.getByTestId("conversation").filter({ hasText: "Alice" }).getByText("Muted", { exact: true }).waitFor({ state: "detached" });

  w.step("without a preview, a notification says neither who nor what");
  await page.goto(`${w.url}/settings/notifications`);
  await page.getByRole("checkbox", { name: "Show who writes, and what" }).uncheck();
  await page.getByRole("checkbox", { name: "Play a sound" }).uncheck();
  await page.evaluate(() => window.look(false));
  await news(0); // the window that was left closed its own
  await w.send(alice, withAlice, ["for your eyes only"]);
  assert.deepEqual(await news(1), [["shown", "Rialto", "New message"]]);
  await page.setViewportSize(phone);
  await page.evaluate(() => window.look(true));
  await w.shot(page, "84-notifications-phone");
}
