import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test } from "vitest";
import { memoryStorage, unread, type Client, type ClientOptions, type Storage } from "../../src/index.js";
import { MentionSchema } from "../../src/gen/rialto/chat/v1/message_pb.js";
import { DeletionSchema } from "../../src/gen/rialto/chat/v1/chat_pb.js";
import { edit, recall } from "../../src/updates.js";
import { FakeServer, bob, me, room, texts, until } from "./fake.js";

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

async function loggedIn(storage?: Storage, options?: ClientOptions): Promise<Client> {
  const c = await server.loggedIn(storage, options);
  clients.push(c);
  return c;
}

async function kept(storage: Storage): Promise<number[]> {
  const store = await storage.open(`rialto-${me}`);
  return (await store.list<{ seq: number }>("messages")).map((m) => m.seq);
}

const down = () => ({ code: "unavailable", reason: "down" });

test("messages are deleted at once, offline as well, and the server is told", async () => {
  const storage = memoryStorage();
  for (const text of ["one", "two", "three"]) server.write(text, bob);
  const c = await loggedIn(storage);
  await c.open(room);
  const [, two] = c.messages(room);
  server.refuseCall = down;
  await c.deleteMessages(room, [1, 3]);
  expect([texts(c.messages(room)), c.conversation(room)!.lastMessage?.text, unread(c.conversation(room)!), c.isGone(two!)]).toEqual([["two"], "two", 1, false]);
  c.close();
  server.refuseCall = undefined;
  const back = server.client(storage);
  clients.push(back);
  await back.start();
  await server.until(() => server.deleted.size === 2);
  await back.open(room);
  await until(back, () => back.conversation(room)!.pendingDeletes === undefined);
  expect([...server.deleted]).toEqual([`${room}/1`, `${room}/3`]);
  expect([texts(back.messages(room)), unread(back.conversation(room)!)]).toEqual([["two"], 1]);
  back.close();
  expect(await kept(storage)).toEqual([2]);
});

test("what another device deletes goes from this one", async () => {
  for (const text of ["one", "two", "three"]) server.write(text, bob);
  const c = await loggedIn();
  await c.open(room);
  server.event({ case: "deletion", value: create(DeletionSchema, { conversation: room, seqs: [2n] }) });
  await until(c, () => texts(c.messages(room)).join() === "one,three");
  expect(unread(c.conversation(room)!)).toBe(2);
  server.event({ case: "deletion", value: create(DeletionSchema, { conversation: room, throughSeq: 3n, throughCounted: 3n }) });
  await until(c, () => c.messages(room).length === 0);
  expect([unread(c.conversation(room)!), c.conversation(room)!.lastMessage, c.conversations().length]).toEqual([0, undefined, 1]);
  server.write("four", bob);
  await until(c, () => texts(c.messages(room)).join() === "four");
  expect(unread(c.conversation(room)!)).toBe(1);
});

test("a deleted conversation is off the list until a message comes, and has only that", async () => {
  const storage = memoryStorage();
  for (const text of ["one", "two"]) server.write(text, bob);
  const c = await loggedIn(storage);
  await c.open(room);
  server.refuseCall = down;
  await c.deleteConversation(room);
  expect([c.conversations(), c.messages(room), c.badge()]).toEqual([[], [], 0]);
  c.close();
  server.refuseCall = undefined;
  const back = server.client(storage);
  clients.push(back);
  await back.start();
  await server.until(() => server.cleared.get(room) === 2n);
  expect(back.conversations()).toEqual([]);
  server.write("three", bob);
  await until(back, () => back.conversations().length === 1);
  await back.open(room);
  await until(back, () => texts(back.messages(room)).join() === "three");
  expect(back.badge()).toBe(1);
});

test("a refused deletion is shown again", async () => {
  for (const text of ["one", "two"]) server.write(text, bob);
  const c = await loggedIn();
  await c.open(room);
  server.refuseCall = (name) => (name === "DeleteMessages" ? { code: "resource_exhausted", reason: "too_many_deleted" } : undefined);
  await expect(c.deleteMessages(room, [1])).rejects.toMatchObject({ reason: "too_many_deleted" });
  expect(c.conversation(room)!.pendingDeletes).toBeUndefined();
});

test("a deleted message stays out of the counts: neither its recall nor an edit that mentions changes them", async () => {
  for (const text of ["one", "two", "three"]) server.write(text, bob);
  const c = await loggedIn();
  await c.open(room);
  await c.deleteMessages(room, [1, 2]);
  server.append(server.store(room, { kind: edit(1, "@me", [create(MentionSchema, { user: me })]) }, bob));
  server.append(server.store(room, { kind: recall(2) }, bob));
  await until(c, () => c.conversation(room)!.lastSeq === 5);
  const { mentions, recalled } = c.conversation(room)!;
  expect([mentions, recalled]).toEqual([[], 2]);
});

test("what came after the last message that the user saw is neither cleared nor off the list", async () => {
  for (const text of ["one", "two"]) server.write(text, bob);
  const c = await loggedIn();
  await c.open(room);
  server.write("three", bob);
  await until(c, () => c.conversation(room)!.lastSeq === 3);
  await c.deleteConversation(room, 2);
  expect([server.cleared.get(room), texts(c.messages(room)), c.conversations().length, unread(c.conversation(room)!)]).toEqual([2n, ["three"], 1, 1]);
});
