// The server is killed: what is written waits, survives a reload, and arrives once, in order.
import assert from "node:assert/strict";
import { extension, message, phone, picture, row, say, sendFile, texts } from "../harness.mjs";

export default async function offline(w) {
  const server = await w.ownServer("--set", `web.extensions=${extension}`);
  const alice = await w.person("alice", "Alice");
  const bob = await w.person("bob", "Bob", { colorScheme: "dark" });
  await w.befriend(alice, bob);
  const [a, b] = [alice.page, bob.page];
  const conversation = await w.direct(bob, alice);
  await w.send(bob, conversation, ["Где встречаемся?"]);
  await w.call("chat.v1.ChatService/Send", { conversation, clientMsgId: "poll", content: { custom: { type: "app.example/poll", data: btoa('{"question":"When?","options":["At 7","At 8"]}'), fallback: "no extension" } } }, bob.token);
  for (const [page, name] of [[a, "Bob"], [b, "Alice"]]) {
    await row(page, name).click();
    await message(page, "Где встречаемся").waitFor();
  }

  const z = await w.device(alice, { locale: "zh-CN", viewport: phone, hasTouch: true, isMobile: true });
  await row(z, "Bob").tap();
  await message(z, "Где встречаемся").waitFor();

  for (const page of [a, b]) await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined)); // the app is on the device
  const draft = (page, text) => page.waitForFunction((t) => document.querySelector('[data-testid="composer"]')?.value === t, text);
  w.step("what is written waits");
  await server.kill();
  await a.locator(".banner.offline").waitFor();
  await say(a, "written while the server was dead");
  await say(a, "and another one");
  await a.getByTestId("outgoing").nth(1).getByRole("img", { name: "Waiting for the connection" }).waitFor();
  await sendFile(a, { name: "notes 笔记.txt", mimeType: "text/plain", buffer: Buffer.from("kept until the network is back") });
  await a.getByTestId("uploads").filter({ hasText: "notes 笔记.txt is waiting for the connection" }).waitFor();
  await sendFile(a, { name: "sunset.png", mimeType: "image/png", buffer: await picture(a) });
  await a.getByTestId("uploads").filter({ hasText: "sunset.png is waiting for the connection" }).waitFor(); // it comes after the other one
  assert.deepEqual(await a.getByTestId("outgoing").evaluateAll((all) => all.map((e) => e.classList.contains("joined"))), [false, true]); // it stays where it is when it is sent
  await w.shot(a, "05-offline");
  await z.locator(".banner.offline").waitFor();
  await z.getByTestId("composer").fill("手机上写的");
  await z.getByRole("button", { name: "发送", exact: true }).tap();
  await z.getByTestId("outgoing").getByRole("img", { name: "等待连接" }).waitFor();
  await w.shot(z, "05-offline-zh");

  w.step("one answers what one wrote and nobody has yet, with the keyboard");
  const unsent = a.getByTestId("outgoing").filter({ hasText: "and another one" });
  await unsent.getByRole("button", { name: "Options" }).focus();
  await a.keyboard.press("Enter");
  await a.getByRole("menuitem", { name: "Reply" }).waitFor();
  await a.keyboard.press("Enter");
  await a.locator(".replying").getByText("and another one").waitFor();
  await say(a, "to which I add this");
  await a.getByTestId("outgoing").filter({ hasText: "to which I add this" }).locator(".quote").filter({ hasText: "and another one" }).waitFor();
  await a.locator(".replying").waitFor({ state: "detached" });
  await w.shot(a, "05-offline-reply");
  await a.reload(); // files are kept, as texts are
  await a.getByTestId("outgoing").filter({ hasText: "to which I add this" }).locator(".quote").filter({ hasText: "and another one" }).waitFor();
  await a.getByTestId("uploads").filter({ hasText: "notes 笔记.txt" }).filter({ hasText: "sunset.png" }).waitFor();
  await a.getByTestId("outgoing").nth(1).waitFor();

  w.step("the app and the chat open without a network, with what was typed, and with the operator's extension");
  await b.getByTestId("composer").fill("a half-written answer");
  await b.locator(".banner.offline").waitFor();
  await b.reload();
  await message(b, "Где встречаемся").waitFor();
  await b.getByRole("group", { name: "Poll: When?" }).getByRole("button", { name: "At 8" }).waitFor();
  await draft(b, "a half-written answer");
  await w.shot(b, "10-offline-reloaded");

  w.step("so do pages that were not open before");
  await b.getByTestId("tab-settings").click();
  await b.getByRole("main", { name: "Profile" }).waitFor();
  await b.getByTestId("tab-chats").click();
  await message(b, "Где встречаемся").waitFor();

  w.step("it arrives once the server is back");
  await server.run();
  await message(b, "and another one").first().waitFor();
  for (const page of [a, b]) await message(page, "手机上写的").waitFor();
  await a.getByTestId("outgoing").first().waitFor({ state: "detached" });
  for (const page of [a, b]) await message(page, "to which I add this").locator("a.quote").filter({ hasText: "and another one" }).waitFor(); // it leads to the message
  await message(a, "and another one").first().getByRole("button", { name: /Sent|Delivered|Read/ }).waitFor(); // the clock has become check marks
  await b.getByRole("button", { name: "Download notes 笔记.txt" }).waitFor();
  await b.getByTestId("image").waitFor();
  await a.getByTestId("uploads").waitFor({ state: "detached" });
  await draft(b, "a half-written answer");

  w.step("a reload shows the same, in the same order");
  const before = await texts(b);
  await b.reload();
  await message(b, "and another one").first().waitFor();
  await b.waitForFunction((n) => document.querySelectorAll('[data-testid="message"] .text').length === n, before.length);
  assert.deepEqual(await texts(b), before);
  assert.deepEqual(await texts(a), before);
  assert.equal(before.filter((x) => x === "and another one").length, 1);
}
