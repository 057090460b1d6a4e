// A page without the SDK receives by the browser's own EventSource: with the cookie of the server's own pages it reconnects by itself, also after the server has
// stopped, and misses and repeats nothing. With a ticket it goes on from a position.
import assert from "node:assert/strict";
import { password } from "../harness.mjs";

export default async function events(world) {
  const server = await world.ownServer();
  const join = (name) => world.call("account.v1.AccountService/Register", { handle: world.handle(name), password });
  const [alice, bob] = [await join("alice"), await join("bob")];
  const { id: conversation } = await world.call("chat.v1.ChatService/OpenDirect", { user: bob.user }, alice.accessToken);
  const send = (text) => world.call("chat.v1.ChatService/Send", { conversation, clientMsgId: text, content: { text } }, alice.accessToken);

  const page = await world.page();
  await page.waitForLoadState("networkidle"); // a page that misses a file of its own while the server is away is loaded again
  await page.context().addCookies([{ name: "rialto_access", value: bob.accessToken, url: world.url }]);
  /** Opens a source, and collects what it brings in window[name]. */
  const open = (name, address) =>
    page.evaluate(
      ([name, address]) => {
        const got = { hellos: 0, messages: [] };
        window[name] = got;
        new EventSource(address).onmessage = (e) => {
          const frame = JSON.parse(e.data);
          if (frame.hello) got.hellos++;
          for (const event of frame.events ?? []) got.messages.push({ id: e.lastEventId, seq: event.seq, text: event.message?.content?.text });
        };
      },
      [name, address],
    );
  const until = (name, text) => page.waitForFunction(([name, text]) => window[name].messages.some((m) => m.text === text), [name, text]);

  world.step("an EventSource with the page's cookie");
  await open("byCookie", "/v1/events");
  await page.waitForFunction(() => window.byCookie.hellos === 1);
  for (const text of ["one", "two"]) await send(text);
  await until("byCookie", "two");

  world.step("the server stops, and comes back");
  const stopped = new Promise((resolve) => server.child.once("exit", resolve));
  server.child.kill("SIGTERM");
  await stopped;
  await server.run();
  await send("while it was away");
  await until("byCookie", "while it was away");
  await send("three");
  await until("byCookie", "three");
  const { messages, hellos } = await page.evaluate(() => window.byCookie);
  assert.deepEqual(messages.map((m) => m.text), ["one", "two", "while it was away", "three"]);
  assert.ok(messages.every((m) => m.id === m.seq), "the id of an event is its position");
  assert.ok(hellos >= 2, "it has reconnected");

  world.step("an EventSource with a ticket goes on from a position");
  const { ticket } = await world.call("account.v1.AccountService/CreateTicket", {}, bob.accessToken);
  await open("byTicket", `/v1/events?ticket=${encodeURIComponent(ticket)}&after=${messages[0].id}`);
  await until("byTicket", "three");
  assert.deepEqual((await page.evaluate(() => window.byTicket)).messages, messages.slice(1));
}
