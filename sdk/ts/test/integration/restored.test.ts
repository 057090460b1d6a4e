import { afterEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { Client, memoryStorage, type ChatMessage, type WebSocketConstructor } from "../../src/index.js";
import { Server } from "./server.js";

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

function until(c: Client, wanted: () => boolean): Promise<void> {
  if (wanted()) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = c.subscribe(() => {
      if (!wanted()) return;
      stop();
      resolve();
    });
  });
}

const texts = (list: readonly ChatMessage[]) => list.flatMap((m) => (m.content.kind.case === "text" ? [m.content.kind.value] : []));

test("a device that has seen more than the backup that its server was restored from shows what the server has, once, and what it had not sent arrives once", async () => {
  const server = await Server.start();
  ends.push(() => server.stop());
  const client = (storage = memoryStorage()) => {
    const c = new Client({ url: server.url, storage, WebSocket: WebSocket as unknown as WebSocketConstructor, info: { name: "test", type: "test" } });
    ends.push(() => c.close());
    return c;
  };
  const signUp = async (handle: string, storage = memoryStorage()) => {
    const c = client(storage);
    await c.start();
    await c.register(handle, "a good password", handle);
    await until(c, () => c.connection === "online");
    return c;
  };
  const alice = await signUp("alice");
  const storage = memoryStorage();
  const bob = await signUp("bob", storage);
  const id = (await alice.openDirect(bob.me)).id;
  const send = async (from: number, to: number, text: string) => {
    for (let i = from; i < to; i++) await alice.sendText(id, `${text} ${i}`);
    await until(alice, () => alice.outgoing(id).length === 0);
  };
  await send(0, 10, "kept");
  await until(bob, () => bob.conversation(id)?.lastMessage?.text === "kept 9");
  await bob.open(id);
  bob.read(id, bob.conversation(id)!.lastSeq);
  server.backUp();
  await send(10, 30, "lost");
  await until(bob, () => texts(bob.messages(id)).at(-1) === "lost 29");
  const lost = bob.messages(id).findLast((m) => m.text === "lost 20")!;
  const kept = bob.messages(id).find((m) => m.text === "kept 5")!;
  await server.kill();
  await until(bob, () => bob.connection !== "online");
  bob.read(id, bob.conversation(id)!.lastSeq);
  await bob.react(id, lost.seq, "👍");
  await bob.react(id, kept.seq, "👍");
  await bob.sendText(id, "unsent");
  await bob.sendText(id, "an answer", { replyTo: lost.seq });
  bob.close(); // the device is switched off
  server.restore();
  await server.run();
  await until(alice, () => alice.connection === "online" && !alice.catchingUp);
  await send(100, 120, "fresh"); // with the seqs of those that bob knows
  const back = client(storage);
  await back.start();
  await until(back, () => back.connection === "online" && !back.catchingUp && back.outgoing(id).length === 0 && back.conversation(id)?.lastMessage?.text === "an answer");
  await back.open(id);
  while (await back.older(id));
  const range = (from: number, to: number, text: string) => Array.from({ length: to - from }, (_, i) => `${text} ${from + i}`);
  const all = [...range(0, 10, "kept"), ...range(100, 120, "fresh"), "unsent", "an answer"];
  await until(back, () => texts(back.messages(id)).length === all.length);
  expect(texts(back.messages(id))).toEqual(all);
  await until(back, () => back.messages(id).some((m) => m.reactions?.mine.length === 1));
  expect(back.messages(id).filter((m) => m.reactions).map((m) => m.text)).toEqual(["kept 5"]);
  expect(back.messages(id).some((m) => m.content.replyTo)).toBe(false);
  await alice.open(id);
  await until(alice, () => texts(alice.messages(id)).at(-1) === "an answer");
  while (await alice.older(id));
  expect(texts(alice.messages(id))).toEqual(all);
});
