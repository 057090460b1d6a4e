import { afterEach, beforeEach, expect, test } from "vitest";
import { memoryStorage, type Client } from "../../src/index.js";
import { FakeServer, me, room, texts, until } from "./fake.js";

/** The server's operator restores a backup: messages that this device has are lost, and their seqs are those of others. */

let server: FakeServer;
const clients: Client[] = [];

beforeEach(async () => {
  server = await FakeServer.start();
});
afterEach(async () => {
  for (const c of clients.splice(0)) c.close();
  await server.stop();
});

/** What a user does without a connection, who knows six messages of which the third and the sixth are their own. */
async function actOffline(c: Client): Promise<void> {
  await c.sendText(room, "plain");
  await c.recall(room, 6);
  await c.react(room, 2, "👍");
  await c.react(room, 6, "👍");
  await c.edit(room, 3, "edited");
  await c.sendText(room, "an answer to the second", { replyTo: 2 });
  await c.sendText(room, "an answer to the sixth", { replyTo: 6 });
  await c.deleteMessages(room, [1, 5]);
  c.read(room, 6);
  await c.configure(room, { draft: "half a sentence" });
}

function goOffline(): void {
  server.sockets = false;
  server.refuseCall = () => ({ code: "unavailable", reason: "down" });
  server.cut();
}

/** The server comes back with the first three messages, and others with the numbers of those that it has lost. */
function restore(): void {
  server.logs.set(room, (server.logs.get(room) ?? []).slice(0, 3));
  server.ids = "NEW";
  server.epoch = 2;
  server.trimmed = 100;
  for (let i = 4; i <= 6; i++) server.write(`new ${i}`, i === 6 ? me : undefined);
  server.stream.at(-1)!.seq = 100n;
  server.stream.splice(0, server.stream.length - 1);
  server.refuseCall = undefined;
  server.sockets = true;
}

for (const reopened of [false, true]) {
  test(`what waits for messages that the server has lost is given up, and all else arrives once, ${reopened ? "after a new start" : "in a tab that was left open"}`, async () => {
    const storage = memoryStorage();
    let c = await server.loggedIn(storage);
    clients.push(c);
    for (let i = 1; i <= 6; i++) server.write(`old ${i}`, i % 3 === 0 ? me : undefined);
    await until(c, () => c.conversation(room)?.lastSeq === 6);
    expect(c.resets).toBe(0); // a new device has nothing that could be lost
    await c.open(room);
    goOffline();
    await until(c, () => c.connection !== "online");
    await actOffline(c);
    const frames = server.frames.length;
    if (reopened) c.close();
    restore();
    if (reopened) {
      c = server.client(storage);
      clients.push(c);
      await c.start();
    }
    await until(c, () => c.connection === "online" && !c.catchingUp && c.outgoing(room).length === 0 && (c.conversation(room)?.lastSeq ?? 0) >= 11);
    await c.open(room);
    await server.until(() => server.deleted.size > 0);
    const log = server.logs.get(room)!.slice(6).map((m) => {
      const { kind } = m.content!;
      if (kind.case === "text") return `${kind.value} → ${m.content!.replyTo?.seq ?? 0n}`;
      const value = kind.value as { target: { seq: bigint } };
      return `${kind.case} ${value.target.seq}`;
    });
    expect(log).toEqual(["plain → 0", "reaction 2", "edit 3", "an answer to the second → 2", "an answer to the sixth → 0"]);
    expect([...server.deleted]).toEqual([`${room}/1`]);
    expect(c.resets).toBe(1);
    expect(server.frames.slice(frames).flatMap((f) => f.marks.map((m) => Number(m.readSeq))).filter((seq) => seq > 0 && seq <= 6)).toEqual([]);
    expect(server.marks).toEqual([]);
    expect(c.conversation(room)?.draft).toBe("half a sentence");
    while (await c.older(room));
    await until(c, () => texts(c.messages(room)).includes("new 5"));
    expect(texts(c.messages(room))).toEqual(["old 2", "old 3", "new 4", "new 5", "new 6", "plain", "an answer to the second", "an answer to the sixth"]);
  });
}

test("what was read of messages that the server has lost is not told of those that have their numbers", async () => {
  const c = await server.loggedIn(memoryStorage());
  clients.push(c);
  for (let i = 1; i <= 6; i++) server.write(`old ${i}`);
  await until(c, () => c.conversation(room)?.lastSeq === 6);
  goOffline();
  await until(c, () => c.connection !== "online");
  c.read(room, 6);
  const frames = server.frames.length;
  restore();
  await until(c, () => c.connection === "online" && !c.catchingUp);
  server.write("new 7");
  const marks = () => server.frames.slice(frames).flatMap((f) => f.marks);
  await server.until(() => marks().some((m) => m.deliveredSeq === 7n));
  expect(marks().filter((m) => m.readSeq > 3n)).toEqual([]);
});

test("what is read while the device catches up is not told of messages that have the numbers of lost ones", async () => {
  let skippedMs = 0;
  const c = await server.loggedIn(memoryStorage(), { now: () => Date.now() + skippedMs });
  clients.push(c);
  for (let i = 1; i <= 6; i++) server.write(`old ${i}`);
  await server.until(() => server.frames.some((f) => f.ack?.seq === 6n)); // from here on no timer of cursors runs
  goOffline();
  await until(c, () => c.connection !== "online");
  const { calls, frames } = server;
  const [firstCall, firstFrame] = [calls.length, frames.length];
  let release = () => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  server.holdCall = (name) => (name === "Sync" ? held : undefined);
  restore();
  await server.until(() => calls.indexOf("Sync", firstCall) >= 0);
  skippedMs = 10_000; // since the last cursors were sent: the next need not wait
  c.read(room, 6);
  await new Promise((resolve) => setTimeout(resolve, 0)); // their timer was set before, and fires first
  release();
  await until(c, () => c.connection === "online" && !c.catchingUp);
  server.write("new 7");
  const marks = () => frames.slice(firstFrame).flatMap((f) => f.marks);
  await server.until(() => marks().some((m) => m.deliveredSeq === 7n));
  expect(marks().filter((m) => m.readSeq > 3n)).toEqual([]);
});

test("what was read without a connection is told after a reset, where the message is the same", async () => {
  const storage = memoryStorage();
  const c = await server.loggedIn(storage);
  clients.push(c);
  for (let i = 1; i <= 3; i++) server.write(`old ${i}`);
  await until(c, () => c.conversation(room)?.lastSeq === 3);
  goOffline();
  await until(c, () => c.connection !== "online");
  c.read(room, 3);
  restore();
  await server.until(() => server.frames.some((f) => f.marks.some((m) => m.readSeq === 3n)));
});

test("what waits survives the login that a restored server asks for, and arrives once", async () => {
  const storage = memoryStorage();
  const c = await server.loggedIn(storage);
  clients.push(c);
  for (let i = 1; i <= 6; i++) server.write(`old ${i}`);
  await until(c, () => c.conversation(room)?.lastSeq === 6);
  goOffline();
  await until(c, () => c.connection !== "online");
  await c.sendText(room, "unsent");
  server.expire(true); // it was renewed after the backup
  restore();
  await until(c, () => c.connection === "signed-out");
  await c.logIn("me", "a good password");
  await until(c, () => c.connection === "online" && !c.catchingUp && c.outgoing(room).length === 0);
  expect(server.logs.get(room)!.filter((m) => m.content?.kind.value === "unsent").map((m) => m.clientSeq)).toEqual([1n]);
});

test("what waits is kept while the server is too busy to say which messages it still has", async () => {
  const storage = memoryStorage();
  const first = await server.loggedIn(storage);
  clients.push(first);
  for (let i = 1; i <= 6; i++) server.write(`old ${i}`, i === 3 ? me : undefined);
  await until(first, () => first.conversation(room)?.lastSeq === 6);
  await first.open(room);
  goOffline();
  await until(first, () => first.connection !== "online");
  await first.react(room, 2, "👍");
  await first.edit(room, 3, "edited");
  await first.deleteMessages(room, [1, 5]);
  first.close();
  restore();
  const codes = ["resource_exhausted", "internal"];
  const calls: string[] = [];
  server.refuseCall = (name) => {
    if (name === "GetMessages" || name === "DeleteMessages") calls.push(name);
    const code = name === "GetMessages" ? codes.shift() : undefined;
    return code === undefined ? undefined : { code, reason: "busy" };
  };
  const c = server.client(storage);
  clients.push(c);
  await c.start();
  await server.until(() => server.deleted.size > 0);
  await until(c, () => c.outgoing(room).length === 0 && !c.catchingUp);
  expect(calls).toEqual(["GetMessages", "GetMessages", "GetMessages", "DeleteMessages"]);
  expect(server.logs.get(room)!.slice(6).map((m) => m.content!.kind.case)).toEqual(["reaction", "edit"]);
  expect([...server.deleted]).toEqual([`${room}/1`]);
});
