import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test } from "vitest";
import { memoryStorage, type Client, type Storage } from "../../src/index.js";
import { ConversationKind } from "../../src/gen/rialto/chat/v1/chat_pb.js";
import { ControlSchema, Control_Action, Role, ThreadSchema } from "../../src/gen/rialto/chat/v1/message_pb.js";
import { FakeServer, bob, room, until } from "./fake.js";

const thread = "8";
let server: FakeServer;
let clients: Client[];

beforeEach(async () => {
  server = await FakeServer.start();
  clients = [];
});
afterEach(async () => {
  for (const c of clients) c.close();
  await server.stop();
});

async function loggedIn(storage?: Storage): Promise<Client> {
  const c = await server.loggedIn(storage);
  clients.push(c);
  return c;
}

/** Says how many replies the thread under the first message has, and tells nobody. */
function setReplies(replies: number): void {
  server.logs.get(room)![0]!.thread = create(ThreadSchema, { conversation: thread, replies, lastReplyMs: 5n });
}

const replies = (c: Client) => c.messages(room)[0]?.thread?.replies;

test("numbers of replies that changed while nobody told are read anew: after a break, and of what the device kept", async () => {
  const storage = memoryStorage();
  server.write("root");
  setReplies(1);
  const c = await loggedIn(storage);
  await c.open(room);
  expect(replies(c)).toBe(1);
  setReplies(2);
  server.cut();
  await until(c, () => replies(c) === 2);
  c.close();
  setReplies(3);
  const back = server.client(storage);
  clients.push(back);
  await back.start();
  await back.open(room);
  await until(back, () => replies(back) === 3);
});

test("the threads of a group that one is removed from leave the device", async () => {
  const storage = memoryStorage();
  server.logs.set(thread, []);
  server.conversations.set(thread, { id: thread, kind: ConversationKind.THREAD, parent: room, role: Role.MEMBER });
  server.write("root");
  server.write("a reply", bob, thread);
  const c = await loggedIn(storage);
  await c.open(thread);
  expect(c.threads().map((t) => t.id)).toEqual([thread]);
  server.append(server.store(room, { kind: { case: "control", value: create(ControlSchema, { action: Control_Action.REMOVED, users: [c.me] }) } }, bob));
  await until(c, () => c.conversation(thread) === undefined);
  expect(c.messages(thread)).toEqual([]);
  c.close();
  const store = await storage.open(`rialto-${c.me || "11"}`);
  expect((await store.list<{ conversation: string }>("messages")).filter((m) => m.conversation === thread)).toEqual([]);
});
