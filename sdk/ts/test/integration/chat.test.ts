import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { Client, memoryStorage, type ChatMessage, type WebSocketConstructor } from "../../src/index.js";
import { Server } from "./server.js";

let server: Server;
const clients: Client[] = [];

beforeEach(async () => {
  server = await Server.start();
});
afterEach(async () => {
  for (const c of clients.splice(0)) c.close();
  await server.stop();
});

function client(storage = memoryStorage()): Client {
  const c = new Client({ url: server.url, storage, WebSocket: WebSocket as unknown as WebSocketConstructor, info: { name: "test", type: "test" } });
  clients.push(c);
  return c;
}

async function signUp(handle: string, storage = memoryStorage()): Promise<Client> {
  const c = client(storage);
  await c.start();
  await c.register(handle, "a good password", handle);
  await until(c, () => c.connection === "online");
  return c;
}

/** Resolves when a client's view is as wanted. */
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

test("two clients chat, the server dies in between, and nothing is lost or doubled", async () => {
  const alice = await signUp("alice");
  const bob = await signUp("bob");
  const conversation = (await alice.openDirect(bob.me)).id;
  await alice.open(conversation);
  await alice.sendText(conversation, "hello 你好 👋🏽");
  await until(bob, () => (bob.conversation(conversation)?.lastSeq ?? 0) >= 2);
  await bob.open(conversation);
  await until(bob, () => texts(bob.messages(conversation)).length === 1);

  await server.kill();
  await until(alice, () => alice.connection !== "online");
  const expected = ["hello 你好 👋🏽"];
  for (let i = 0; i < 20; i++) {
    await alice.sendText(conversation, `offline ${i}`);
    expected.push(`offline ${i}`);
  }
  expect(alice.outgoing(conversation)).toHaveLength(20);
  await server.run();
  await until(bob, () => texts(bob.messages(conversation)).length === 21);
  await until(alice, () => alice.outgoing(conversation).length === 0 && texts(alice.messages(conversation)).length === 21);
  expect(texts(bob.messages(conversation))).toEqual(expected);
  expect(texts(alice.messages(conversation))).toEqual(expected);
  expect(bob.conversation(conversation)!.lastSeq).toBe(22);
  expect(bob.badge()).toBe(21);
  bob.read(conversation, 22);
  expect(bob.badge()).toBe(0);
  await until(alice, () => alice.conversation(conversation)!.peerReadSeq === 22);
});

test("a second device, and a device that comes back, end equal to the first", async () => {
  const alice = await signUp("alice");
  const storage = memoryStorage();
  const bob = await signUp("bob", storage);
  const conversation = (await bob.openDirect(alice.me)).id;
  await bob.configure(conversation, { pinned: true, draft: "not yet" });
  bob.close();

  await alice.open(conversation);
  for (let i = 0; i < 120; i++) await alice.sendText(conversation, `message ${i}`);
  await until(alice, () => alice.outgoing(conversation).length === 0);

  const back = client(storage);
  expect(await back.start()).toBe(true);
  await until(back, () => back.conversation(conversation)?.lastSeq === 121);
  await back.open(conversation);
  await until(back, () => back.messages(conversation).at(-1)?.seq === 121);

  const second = client();
  await second.start();
  await second.logIn("bob", "a good password");
  await until(second, () => second.conversation(conversation)?.lastSeq === 121 && second.conversation(conversation)!.kind !== 0);
  for (const c of [back, second]) {
    const v = c.conversation(conversation)!;
    expect([v.pinned, v.draft, v.lastSeq, c.badge()]).toEqual([true, "not yet", 121, 120]);
  }
  await second.open(conversation);
  while (await second.older(conversation));
  expect(texts(second.messages(conversation))).toEqual(Array.from({ length: 120 }, (_, i) => `message ${i}`));
});

test("a group: invite, rename, leave; a refused message stays and says why", async () => {
  const alice = await signUp("alice");
  const bob = await signUp("bob");
  const group = (await alice.createGroup("walks", [bob.me])).id;
  await until(bob, () => bob.conversation(group)?.title === "walks");
  await alice.chat.updateGroup({ conversation: group, title: "long walks" });
  await until(bob, () => bob.conversation(group)?.title === "long walks");
  await alice.chat.remove({ conversation: group, users: [bob.me] });
  await until(bob, () => (bob.conversation(group)?.leaveSeq ?? 0) > 0);
  await bob.sendText(group, "may I?");
  await until(bob, () => bob.outgoing(group)[0]?.failed !== undefined);
  expect(bob.outgoing(group)[0]!.failed!.code).toBe("not_found");
});

test("the example of a bot answers", async () => {
  const bot = spawn(process.execPath, ["examples/echo.mjs"], { env: { ...process.env, SERVER: server.url }, stdio: ["ignore", "pipe", "inherit"] });
  try {
    for await (const line of createInterface({ input: bot.stdout })) if (line === "online") break;
    const alice = await signUp("alice");
    const { users } = await alice.account.getUsers({ handles: ["echo"] });
    const conversation = (await alice.openDirect(users[0]!.id)).id;
    await alice.open(conversation);
    await alice.sendText(conversation, "is anybody there?");
    await until(alice, () => texts(alice.messages(conversation)).includes("You said: is anybody there?"));
  } finally {
    bot.kill();
  }
});
