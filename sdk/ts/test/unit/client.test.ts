import "fake-indexeddb/auto";
import { create } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { WebSocket } from "ws";
import { indexedDBStorage, memoryStorage, unread, type Client, type ClientOptions, type JoinRequests, type Storage, type WebSocketConstructor } from "../../src/index.js";
import { FollowChangeSchema, FoldersChangeSchema, InvitationsChangeSchema, JoinRequestsSchema, SettingsChangeSchema } from "../../src/gen/rialto/chat/v1/chat_pb.js";
import { FakeServer, bob, me, room, texts, until } from "./fake.js";

let server: FakeServer;
const clients: Client[] = [];

beforeEach(async () => {
  server = await FakeServer.start();
});
afterEach(async () => {
  for (const c of clients.splice(0)) c.close();
  await server.stop();
});

async function loggedIn(storage?: Storage, options?: ClientOptions): Promise<Client> {
  const c = await server.loggedIn(storage, options);
  clients.push(c);
  return c;
}

async function started(storage: Storage): Promise<Client> {
  const c = server.client(storage);
  clients.push(c);
  expect(await c.start()).toBe(true);
  return c;
}

test("a lost receipt: the message goes again after the reconnect, and is there once", async () => {
  const c = await loggedIn();
  await c.open(room);
  server.pushes = false;
  server.beforeReceipt = () => {
    server.beforeReceipt = undefined;
    server.cut();
    return true;
  };
  await c.sendText(room, "once");
  await until(c, () => c.outgoing(room).length === 0 && c.messages(room).length === 1);
  expect(texts(c.messages(room))).toEqual(["once"]);
  expect(server.logs.get(room)).toHaveLength(1);
  expect(server.handshakes).toBe(2);
});

test("a server that takes a try to connect and stays silent is given up, and another is tried", async () => {
  server.silent = ["ticket", "handshake", "hello"];
  const c = await loggedIn(undefined, { openTimeoutMs: 1_000 });
  expect(server.silent).toEqual([]);
  expect(server.handshakes).toBeGreaterThanOrEqual(3);
  await c.open(room);
});

test("one's own message is shown once, whether its push or its receipt comes first", async () => {
  const c = await loggedIn();
  await c.open(room);
  server.beforeReceipt = () => true; // the push alone says that it is stored
  await c.sendText(room, "a");
  await until(c, () => c.outgoing(room).length === 0);
  server.beforeReceipt = undefined;
  server.pushes = false; // the receipt alone
  await c.sendText(room, "b");
  await until(c, () => c.outgoing(room).length === 0);
  server.push(...server.stream);
  server.pushes = true;
  server.write("c");
  await until(c, () => c.messages(room).length === 3);
  expect(texts(c.messages(room))).toEqual(["a", "b", "c"]);
});

test("a push that was lost shows as a gap with the next, and is fetched", async () => {
  const c = await loggedIn();
  const heard: string[] = [];
  c.on("message", (m) => heard.push(...texts([m])));
  await c.open(room);
  server.write("1");
  server.pushes = false;
  server.write("2");
  server.write("3");
  server.pushes = true;
  server.write("4");
  await until(c, () => c.messages(room).length === 4);
  expect(texts(c.messages(room))).toEqual(["1", "2", "3", "4"]);
  expect(heard).toEqual(["1", "2", "3", "4"]);
});

test("pushes out of order and repeated: each message once, in order", async () => {
  const c = await loggedIn();
  const heard: string[] = [];
  c.on("message", (m) => heard.push(...texts([m])));
  await c.open(room);
  server.pushes = false;
  const events = ["1", "2", "3", "4"].map((t) => server.write(t));
  for (const i of [2, 0, 3, 3, 1, 0]) server.push(events[i]!);
  await until(c, () => heard.length === 4);
  server.pushes = true;
  server.write("5");
  await until(c, () => heard.length === 5);
  expect(heard).toEqual(["1", "2", "3", "4", "5"]);
  expect(texts(c.messages(room))).toEqual(heard);
});

test("a sync that the server refuses for now is asked again while the connection lives", async () => {
  const c = await loggedIn();
  let refusals = 1;
  server.refuseCall = (name) => (name === "Sync" && refusals-- > 0 ? { code: "unavailable", reason: "busy" } : undefined);
  server.pushes = false;
  server.write("1");
  server.pushes = true;
  server.write("2");
  await until(c, () => c.conversation(room)?.lastSeq === 2);
  expect(server.handshakes).toBe(1);
});

test("a stream in a later epoch is synced, and goes on there", async () => {
  const c = await loggedIn();
  server.write("1");
  await until(c, () => c.conversation(room)?.lastSeq === 1);
  server.epoch = 2;
  server.write("2");
  server.write("3");
  await until(c, () => c.conversation(room)?.lastSeq === 3);
  expect(c.badge()).toBe(3);
});

test("reset: the lists are read anew, and what is no more is gone", async () => {
  const storage = memoryStorage();
  const c = await loggedIn(storage);
  server.write("1");
  server.conversations.set("8", { id: "8", kind: 2, title: "gone soon" });
  server.logs.set("8", []);
  server.write("in the other", bob, "8");
  await until(c, () => c.conversations().length === 2);
  c.close();
  server.conversations.delete("8");
  for (let i = 2; i <= 60; i++) server.write(String(i));
  server.trimmed = 50;
  const back = await started(storage);
  await until(back, () => back.conversation(room)?.lastSeq === 60 && !back.conversation("8"));
  expect(back.badge()).toBe(60);
  await back.open(room);
  while (await back.older(room));
  expect(texts(back.messages(room))).toEqual(Array.from({ length: 60 }, (_, i) => String(i + 1)));
  server.write("61");
  await until(back, () => back.messages(room).at(-1)?.seq === 61);
});

test("after a reset, a server that has lost messages gives their numbers to others", async () => {
  const storage = memoryStorage();
  const c = await loggedIn(storage);
  for (let i = 1; i <= 6; i++) server.write(`old ${i}`);
  await until(c, () => c.conversation(room)?.lastSeq === 6);
  await c.open(room);
  c.read(room, 6);
  await until(c, () => c.badge() === 0);
  c.close();
  server.logs.set(room, (server.logs.get(room) ?? []).slice(0, 3));
  server.write("new 4");
  server.trimmed = 7;
  const back = await started(storage);
  await until(back, () => back.conversation(room)?.lastSeq === 4);
  await back.open(room);
  expect(texts(back.messages(room))).toEqual(["old 1", "old 2", "old 3", "new 4"]);
  expect(back.badge()).toBe(4); // as the server says, which has lost the cursor as well
  server.write("new 5");
  await until(back, () => back.messages(room).at(-1)?.seq === 5);
  expect(texts(back.messages(room)).slice(3)).toEqual(["new 4", "new 5"]);
  expect(back.badge()).toBe(5);
});

test("after a reset, a conversation is muted as the server says, and as the user has set since", async () => {
  const storage = memoryStorage();
  server.conversations.set("8", { id: "8", kind: 2, title: "muted offline" });
  server.logs.set("8", []);
  const c = await loggedIn(storage);
  server.write("1");
  server.write("1", bob, "8");
  await until(c, () => c.badge() === 2);
  server.refuseCall = (name) => (name === "Configure" ? { code: "unavailable", reason: "down" } : undefined);
  await c.configure("8", { muted: true });
  expect(c.badge()).toBe(1);
  c.close();
  server.conversations.set(room, { id: room, kind: 2, title: "muted on another device", state: { muted: true } });
  server.write("2");
  server.trimmed = 3;
  const back = await started(storage);
  await until(back, () => back.conversation(room)?.lastSeq === 2);
  expect([room, "8"].map((id) => back.conversation(id)?.muted)).toEqual([true, true]);
  expect(back.badge()).toBe(0);
});

test("reconnects as often as it is told to, and sends in order what was written meanwhile", async () => {
  const c = await loggedIn();
  server.sockets = false;
  server.refuseCall = (name) => (name === "CreateTicket" ? undefined : { code: "unavailable", reason: "draining" });
  server.close(4000, "draining");
  await until(c, () => c.connection === "offline");
  for (let i = 0; i < 30; i++) await c.sendText(room, String(i));
  expect(c.outgoing(room)).toHaveLength(30);
  server.refuseCall = undefined;
  server.sockets = true;
  await until(c, () => c.outgoing(room).length === 0);
  expect(texts(server.logs.get(room)! as never)).toEqual(Array.from({ length: 30 }, (_, i) => String(i)));
});

test("one's own message is answered before it has a seq, and the answer shows when the server has said which message it is", async () => {
  const c = await loggedIn();
  await c.open(room);
  server.sockets = false;
  server.refuseCall = (name) => (name === "CreateTicket" ? undefined : { code: "unavailable", reason: "draining" });
  server.close(4000, "draining");
  await until(c, () => c.connection === "offline");
  await c.sendText(room, "first");
  await c.sendText(room, "second", { replyTo: c.outgoing(room)[0]! });
  expect(c.outgoing(room)[1]!.content.replyTo).toMatchObject({ seq: 0n, clientSeq: 1n });
  server.pushes = false;
  server.refuseCall = undefined;
  server.sockets = true;
  await until(c, () => c.outgoing(room).length === 0);
  expect(c.messages(room).filter((m) => m.content.replyTo?.clientSeq)).toEqual([]); // there are receipts only
  server.pushes = true;
  server.cut();
  await until(c, () => c.messages(room).length === 2);
  const [first, second] = c.messages(room);
  expect(second!.content.replyTo).toMatchObject({ seq: BigInt(first!.seq), clientSeq: 0n });
});

test.each([
  ["memory", () => memoryStorage()],
  ["IndexedDB", () => indexedDBStorage(new IDBFactory())],
])("the outbox survives a reload, in %s, and no number is used twice", async (_, make) => {
  const storage = make();
  const c = await loggedIn(storage);
  await c.sendText(room, "first");
  await until(c, () => c.outgoing(room).length === 0);
  server.sockets = false;
  server.refuseCall = () => ({ code: "unavailable", reason: "down" });
  server.cut();
  await until(c, () => c.connection === "offline");
  await c.sendText(room, "written offline");
  c.close();

  const back = await started(storage);
  expect(texts(back.outgoing(room))).toEqual(["written offline"]);
  await back.sendText(room, "and another");
  server.sockets = true;
  server.refuseCall = undefined;
  await until(back, () => back.connection === "online" && back.outgoing(room).length === 0);
  expect(texts(server.logs.get(room)! as never)).toEqual(["first", "written offline", "and another"]);
  expect(server.logs.get(room)!.map((m) => Number(m.clientSeq))).toEqual([1, 2, 3]);
});

test("an access token that ended is renewed once, for all calls that met it", async () => {
  const c = await loggedIn();
  const before = server.refreshes;
  server.expire();
  await Promise.all([c.chat.getConversation({ conversation: room }), c.chat.listConversations({}), c.account.createTicket({})]);
  expect(server.refreshes).toBe(before + 1);
  expect(c.connection).toBe("online");
});

test("a refresh whose answer got lost is asked again", async () => {
  let lose = false;
  const flaky: typeof fetch = async (input, init) => {
    const res = await fetch(input, init);
    if (!lose || !String(input).endsWith("/Login")) return res;
    lose = false;
    throw new TypeError("connection reset");
  };
  const c = await loggedIn(memoryStorage(), { fetch: flaky });
  lose = true;
  let once = true;
  server.refuseCall = (name) => {
    if (name !== "Refresh" || !once) return undefined;
    once = false;
    return { code: "unavailable", reason: "lost" };
  };
  server.expire();
  await c.chat.getConversation({ conversation: room });
  expect(server.calls.filter((n) => n === "Refresh")).toHaveLength(2);
  expect(c.me).toBe(me);
});

test("a session that ended elsewhere ends here: nothing asks on", async () => {
  const c = await loggedIn();
  const ended: string[] = [];
  c.on("ended", (e) => ended.push(e.reason));
  server.expire(true);
  await expect(c.chat.getConversation({ conversation: room })).rejects.toMatchObject({ code: "unauthenticated" });
  await until(c, () => c.connection === "signed-out");
  expect(ended).toEqual(["logged_out"]);
  await expect(c.sendText(room, "no")).rejects.toMatchObject({ reason: "logged_out" });
});

test("told to stay away because the session ended, it does", async () => {
  const storage = memoryStorage();
  const c = await loggedIn(storage);
  server.close(4102, "revoked");
  await until(c, () => c.connection === "signed-out");
  expect(server.handshakes).toBe(1);
  expect(await server.client(storage).start()).toBe(false);
});

test("a socket that the server forbids costs the socket and not the login", async () => {
  const storage = memoryStorage();
  const c = await loggedIn(storage);
  server.close(4103, "frame too large");
  await until(c, () => c.connection === "polling");
  expect(server.handshakes).toBe(1);
  expect(c.me).toBe(me);
});

test("a refused message stays, says why, holds nothing back, and gets a new number when tried again", async () => {
  const c = await loggedIn();
  server.refuseSend = (s) => (s.clientSeq === 1n ? { code: "permission_denied", reason: "muted" } : undefined);
  await c.sendText(room, "no");
  await c.sendText(room, "yes");
  await until(c, () => c.outgoing(room).length === 1 && c.outgoing(room)[0]!.failed !== undefined);
  expect(c.outgoing(room)[0]).toMatchObject({ clientSeq: 1, failed: { code: "permission_denied", reason: "muted" } });
  await c.retry(1);
  await until(c, () => c.outgoing(room).length === 0);
  expect(server.numbers).toEqual([1, 2, 3]);
  expect(texts(server.logs.get(room)! as never)).toEqual(["yes", "no"]);
});

test("a hint that names a large group: its messages are pulled where it is shown, without a sync", async () => {
  server.conversations.set("9", { id: "9", kind: 2, title: "crowd", large: true });
  server.logs.set("9", []);
  server.store("9", { kind: { case: "text", value: "m1" } }, bob);
  const c = await loggedIn();
  await c.open("9");
  await until(c, () => c.messages("9").length === 1);
  for (let i = 2; i <= 80; i++) server.store("9", { kind: { case: "text", value: `m${i}` } }, bob);
  const before = server.calls.filter((call) => call === "Sync").length;
  server.send({ hint: { conversations: [{ conversation: "9", lastSeq: 80n }] } });
  await until(c, () => c.messages("9").length === 80);
  expect(c.messages("9").map((m) => m.seq)).toEqual(Array.from({ length: 80 }, (_, i) => i + 1));
  expect(c.conversation("9")!.lastSeq).toBe(80);
  expect(server.calls.filter((call) => call === "Sync").length).toBe(before);
});

test("a hint that names none: pushes were left out, and a sync finds the large group's messages", async () => {
  server.conversations.set("9", { id: "9", kind: 2, title: "crowd", large: true });
  server.logs.set("9", []);
  server.store("9", { kind: { case: "text", value: "m1" } }, bob);
  const c = await loggedIn();
  await c.open("9");
  await until(c, () => c.messages("9").length === 1);
  for (let i = 2; i <= 80; i++) server.store("9", { kind: { case: "text", value: `m${i}` } }, bob);
  server.large = [{ conversation: "9", lastSeq: 80n }];
  server.send({ hint: {} });
  await until(c, () => c.messages("9").length === 80);
  expect(c.messages("9").map((m) => m.seq)).toEqual(Array.from({ length: 80 }, (_, i) => i + 1));
});

test("without sockets it polls: what was written goes out by calls, and what came in is there", async () => {
  const storage = memoryStorage();
  const c = await loggedIn(storage);
  server.sockets = false;
  server.refuseCall = () => ({ code: "unavailable", reason: "down" });
  server.cut();
  await until(c, () => c.connection === "offline");
  for (const t of ["a", "b"]) await c.sendText(room, t);
  server.write("from bob");
  c.close();
  server.refuseCall = undefined;

  const back = await started(storage);
  await until(back, () => back.connection === "polling" && back.outgoing(room).length === 0 && back.conversation(room)!.lastSeq === 3);
  expect(texts(server.logs.get(room)! as never)).toEqual(["from bob", "a", "b"]);
  await server.until(() => server.marks.length > 0);
  expect(server.marks[0]).toMatchObject({ conversation: room, deliveredSeq: 1n });
});

test("without sockets, an event comes in the answer of a poll that waits, and what is written goes out meanwhile", async () => {
  server.sockets = false;
  const c = server.client(memoryStorage());
  clients.push(c);
  await c.logIn("me", "a good password");
  await c.open(room);
  await server.until(() => server.waits === 1);
  server.write("at once");
  await until(c, () => c.messages(room).length === 1);
  expect(server.waits).toBeLessThanOrEqual(2); // the first has brought it
  await server.until(() => server.waits === 2);
  await c.sendText(room, "meanwhile");
  await until(c, () => c.outgoing(room).length === 0 && c.messages(room).length === 2);
  expect(texts(server.logs.get(room)! as never)).toEqual(["at once", "meanwhile"]);
  server.sockets = true;
  c.reconnect();
  await until(c, () => c.connection === "online");
  server.write("pushed");
  await until(c, () => c.messages(room).length === 3);
  expect(texts(c.messages(room))).toEqual(["at once", "meanwhile", "pushed"]);
});

test("where the network breaks polls that wait, others find what came", async () => {
  const c = server.client(memoryStorage(), { WebSocket: undefined });
  clients.push(c);
  await c.logIn("me", "a good password");
  await c.open(room);
  await server.until(() => server.waits === 1);
  server.breakWait = () => server.write("while it broke");
  server.write("first");
  await until(c, () => c.messages(room).length === 2);
  expect(texts(c.messages(room))).toEqual(["first", "while it broke"]);
  expect(server.waits).toBe(2);
  expect(c.connection).toBe("polling");
});

test("read marks go out together, and again after a connection that died with them", async () => {
  const c = await loggedIn();
  for (const t of ["1", "2", "3"]) server.write(t);
  await until(c, () => c.badge() === 3);
  c.read(room, 2);
  c.read(room, 3);
  expect(c.badge()).toBe(0);
  const told = () => server.frames.filter((f) => f.marks.some((m) => m.readSeq === 3n)).length;
  await server.until(() => told() === 1);
  server.cut();
  await server.until(() => told() === 2);
  expect(server.frames.flatMap((f) => f.marks).some((m) => m.readSeq === 2n)).toBe(false);
});

test("after logging out nothing is kept but the count, and the next login counts on", async () => {
  const storage = memoryStorage();
  const c = await loggedIn(storage);
  await c.sendText(room, "one");
  await until(c, () => c.outgoing(room).length === 0);
  await c.logOut();
  const kept = await storage.open(`rialto-${me}`);
  for (const table of ["conversations", "messages", "outbox", "users"] as const) expect(await kept.list(table)).toEqual([]);
  server.beforeReceipt = () => true;
  await c.logIn("me", "a good password");
  expect((await c.sendText(room, "one")).clientSeq).toBe(2);
  expect(server.devices.map((d) => [d.device, d.deviceKey])).toEqual([["0", ""], ["5", "rd_key"]]); // it is known by its key
});

test("what is being stored while one logs out is not kept either", async () => {
  const inner = memoryStorage();
  let open = () => {};
  const gate = new Promise<void>((resolve) => (open = resolve));
  const slow: Storage = {
    async open(name) {
      const store = await inner.open(name);
      return Object.assign(Object.create(store) as typeof store, {
        async count(key: string, floor: number) {
          await gate;
          return store.count(key, floor);
        },
      });
    },
  };
  const c = await loggedIn(slow);
  const added = [c.sendFile(room, new Blob(["x"]), "a.txt"), c.sendFile(room, new Blob(["y"]), "b.txt"), c.sendText(room, "one")];
  await c.logOut();
  open();
  await Promise.allSettled(added);
  const kept = await inner.open(`rialto-${me}`);
  expect([await kept.list("uploads"), await kept.list("outbox")]).toEqual([[], []]);
});

test("settings made offline show at once, and are told when there is a connection", async () => {
  const c = await loggedIn();
  server.write("1");
  await until(c, () => c.conversation(room)?.lastSeq === 1);
  server.sockets = false;
  server.refuseCall = () => ({ code: "unavailable", reason: "down" });
  server.cut();
  await until(c, () => c.connection === "offline");
  await c.configure(room, { pinned: true, draft: "half a" });
  expect(c.conversation(room)).toMatchObject({ pinned: true, draft: "half a" });
  server.sockets = true;
  server.refuseCall = undefined;
  await until(c, () => Object.keys(c.conversation(room)!.pending).length === 0);
  expect(c.conversation(room)).toMatchObject({ pinned: true, draft: "half a" });
  expect(server.calls).toContain("Configure");
});

test("what is marked as unread is so until it is read", async () => {
  const c = await loggedIn();
  server.write("1");
  await until(c, () => c.conversation(room)?.lastSeq === 1);
  server.sockets = false;
  server.refuseCall = () => ({ code: "unavailable", reason: "down" });
  server.cut();
  await until(c, () => c.connection === "offline");
  await c.configure(room, { markedUnread: true });
  expect(c.conversation(room)).toMatchObject({ markedUnread: true, pending: { markedUnread: true } });
  c.read(room, 1);
  expect(c.conversation(room)).toMatchObject({ markedUnread: false, readSeq: 1, pending: {} });
});

test("older pages come in order, the next one fetched ahead", async () => {
  for (let i = 1; i <= 170; i++) server.store(room, { kind: { case: "text", value: String(i) } }, bob);
  const c = await loggedIn();
  await c.open(room);
  expect(c.messages(room)).toHaveLength(50);
  expect(await c.older(room)).toBe(true);
  await server.until(() => server.calls.filter((n) => n === "History").length === 3);
  expect(await c.older(room)).toBe(true);
  expect(await c.older(room)).toBe(false);
  expect(c.messages(room).map((m) => m.seq)).toEqual(Array.from({ length: 170 }, (_, i) => i + 1));
  expect(await c.older(room)).toBe(false);
});

test("what was loaded once is there without a server", async () => {
  const storage = memoryStorage();
  for (let i = 1; i <= 90; i++) server.store(room, { kind: { case: "text", value: String(i) } }, bob);
  const c = await loggedIn(storage);
  await c.open(room);
  await c.older(room);
  c.close();
  server.sockets = false;
  server.refuseCall = () => ({ code: "unavailable", reason: "down" });
  const back = await started(storage);
  await back.open(room);
  expect(back.messages(room).map((m) => m.seq)).toEqual(Array.from({ length: 50 }, (_, i) => i + 41));
  await back.older(room);
  expect(back.messages(room)).toHaveLength(90);
  expect(back.conversations().map((v) => v.title)).toEqual(["room"]);
});

test("told to wait for an hour, one can still ask for a try at once", async () => {
  const c = await loggedIn();
  await until(c, () => c.connection === "online");
  server.refuseCall = (name) => (name === "CreateTicket" ? { code: "unavailable", reason: "full", retryMs: 3_600_000 } : undefined);
  server.cut();
  await until(c, () => c.retryAtMs > Date.now() + 3_000_000);
  server.refuseCall = undefined;
  c.reconnect();
  await until(c, () => c.connection === "online");
  expect(server.handshakes).toBe(2);
});

test("a log-out of one's own is not told as an end from elsewhere, though the server closes the socket first", async () => {
  let socket: WebSocket | undefined;
  class Watched extends WebSocket {
    constructor(url: string, protocols: string[]) {
      super(url, protocols);
      socket = this;
    }
  }
  const fetchAfterClose: typeof fetch = async (input, init) => {
    if (String(input).endsWith("/Logout")) {
      const closed = new Promise((resolve) => (socket!.readyState === WebSocket.CLOSED ? resolve(undefined) : socket!.addEventListener("close", resolve)));
      server.close(4102, "logged_out");
      await closed;
    }
    return fetch(input, init);
  };
  const c = await loggedIn(memoryStorage(), { fetch: fetchAfterClose, WebSocket: Watched as unknown as WebSocketConstructor });
  await until(c, () => c.connection === "online");
  const ended: string[] = [];
  c.on("ended", ({ reason }) => ended.push(reason));
  await c.logOut();
  expect(c.connection).toBe("signed-out");
  expect(ended).toEqual([]);
});

test("what has expired goes from the device as well", async () => {
  const storage = memoryStorage();
  Object.assign(server.conversations.get(room)!, { keptSeconds: 2 * 86_400 });
  const now = BigInt(Date.now());
  for (let i = 1; i <= 60; i++) {
    const m = server.store(room, { kind: { case: "text", value: String(i) } }, bob);
    m.timeMs = now - BigInt(i <= 25 ? 49 : 47) * 3_600_000n;
  }
  const c = await loggedIn(storage);
  await c.open(room);
  await c.older(room);
  c.close();
  const back = await started(storage);
  const kept = await storage.open(`rialto-${me}`);
  const left = Array.from({ length: 35 }, (_, i) => i + 26);
  await vi.waitFor(async () => expect((await kept.list<{ seq: number }>("messages")).map((m) => m.seq)).toEqual(left)); // before it is opened
  await back.open(room);
  expect(back.messages(room).map((m) => m.seq)).toEqual(left);
});

test("offline, what has expired is not shown, and goes from the device when it is opened", async () => {
  const storage = memoryStorage();
  Object.assign(server.conversations.get(room)!, { keptSeconds: 2 * 86_400 });
  const now = BigInt(Date.now());
  for (let i = 1; i <= 40; i++) server.store(room, { kind: { case: "text", value: String(i) } }, bob).timeMs = now - BigInt(i <= 25 ? 49 : 47) * 3_600_000n;
  const c = await loggedIn(storage);
  await c.open(room);
  c.close();
  server.sockets = false;
  server.refuseCall = () => ({ code: "unavailable", reason: "down" });
  const back = await started(storage);
  await back.open(room);
  const left = Array.from({ length: 15 }, (_, i) => i + 26);
  expect(back.messages(room).map((m) => m.seq)).toEqual(left);
  const kept = await storage.open(`rialto-${me}`);
  await vi.waitFor(async () => expect((await kept.list<{ seq: number }>("messages")).map((m) => m.seq)).toEqual(left));
});

test("messages disappear at their time, from lists, counts and the device", async () => {
  const storage = memoryStorage();
  Object.assign(server.conversations.get(room)!, { keptSeconds: 60 });
  const now = BigInt(Date.now());
  for (const [text, age] of [["1", 59_300n], ["2", 59_200n], ["3", 0n]] as const) server.store(room, { kind: { case: "text", value: text } }, bob).timeMs = now - age;
  const c = await loggedIn(storage);
  await c.open(room);
  await until(c, () => c.messages(room).map((m) => m.text).join() === "3");
  expect([c.conversation(room)!.joinSeq, unread(c.conversation(room)!)]).toEqual([3, 1]);
  c.close();
  const kept = await storage.open(`rialto-${me}`);
  expect((await kept.list<{ text: string }>("messages")).map((m) => m.text)).toEqual(["3"]);
});

test("requests to join are told, by a push and by a sync", async () => {
  const c = await loggedIn();
  const told: JoinRequests[] = [];
  c.on("joinRequests", (r) => told.push(r));
  server.event({ case: "joinRequests", value: create(JoinRequestsSchema, { conversation: room, waiting: 1, user: bob }) });
  await until(c, () => told.length === 1);
  server.pushes = false;
  server.event({ case: "joinRequests", value: create(JoinRequestsSchema, { conversation: room, waiting: 0 }) });
  server.cut();
  await until(c, () => told.length === 2);
  expect(told).toEqual([{ conversation: room, waiting: 1, user: bob }, { conversation: room, waiting: 0, user: "0" }]);
});

test("a channel that was followed just before the page was closed is there after the next start", async () => {
  const storage = memoryStorage();
  const c = await loggedIn(storage);
  server.conversations.set("71", { id: "71", kind: 2, title: "News" });
  server.refuseCall = (name) => (name === "GetConversation" ? { code: "unavailable", reason: "down" } : undefined);
  server.event({ case: "follow", value: create(FollowChangeSchema, { conversation: "71", follows: true }) });
  await until(c, () => c.conversation("71") !== undefined);
  expect(c.conversations().map((v) => v.id)).not.toContain("71"); // nothing is known of it
  c.close();
  server.refuseCall = undefined;
  const back = await started(storage);
  await until(back, () => back.conversation("71")?.title === "News");
});

test("invitations follow the stream, also after a reset, and are gone when they are answered", async () => {
  const storage = memoryStorage();
  const invitation = (n: string) => ({ conversation: n, title: `group ${n}`, inviter: bob, timeMs: 5 });
  const c = await loggedIn(storage);
  server.invitations = ["71", "72"].map((n) => ({ ...invitation(n), timeMs: 5n }));
  server.event({ case: "invitations", value: create(InvitationsChangeSchema, { conversation: "71", inviter: bob }) });
  await until(c, () => c.invitations().length === 2);
  expect(c.invitations()[0]).toEqual(invitation("71"));
  server.conversations.set("71", { id: "71", kind: 2, title: "group 71" });
  await c.answerInvitation("71", true);
  expect(c.conversation("71")?.title).toBe("group 71");
  expect(c.invitations()).toEqual([invitation("72")]);
  c.close();
  const back = await started(storage);
  expect(back.invitations()).toEqual([invitation("72")]);
});

test("invitations to organizations follow the stream, and are gone when they are answered", async () => {
  const storage = memoryStorage();
  const invitation = (n: string) => ({ organization: n, name: `company ${n}`, inviter: bob, timeMs: 5 });
  const c = await loggedIn(storage);
  server.organizationInvitations = ["81", "82"].map((n) => ({ ...invitation(n), timeMs: 5n }));
  server.event({ case: "invitations", value: create(InvitationsChangeSchema, { organization: "81", inviter: bob }) });
  await until(c, () => c.organizationInvitations().length === 2);
  expect(c.organizationInvitations()[0]).toEqual(invitation("81"));
  await c.answerOrganizationInvitation("81", false);
  expect(c.organizationInvitations()).toEqual([invitation("82")]);
  c.close();
  const back = await started(storage);
  expect(back.organizationInvitations()).toEqual([invitation("82")]);
});

test("folders are those of the server, after a change here and elsewhere", async () => {
  const c = await loggedIn();
  await c.createFolder("work", [room]);
  expect(c.folders()).toEqual([{ id: "90", name: "work", conversations: [room] }]);
  server.folders = [{ id: "91", name: "home", conversations: [] }];
  server.event({ case: "folders", value: create(FoldersChangeSchema) });
  await until(c, () => c.folders()[0]?.name === "home");
  expect(c.folders()).toHaveLength(1);
});

test("settings follow what another device changed, also while this one was away", async () => {
  const storage = memoryStorage();
  server.settings = { theme: "light", hideRead: true };
  const c = await loggedIn(storage);
  await until(c, () => c.settings()?.theme === "light");
  server.settings = { theme: "dark", hideRead: true };
  server.event({ case: "settings", value: create(SettingsChangeSchema) });
  await until(c, () => c.settings()?.theme === "dark");
  c.close();
  server.settings = { theme: "dark", locale: "zh" };
  server.event({ case: "settings", value: create(SettingsChangeSchema) });
  const back = await started(storage);
  expect(back.settings()).toMatchObject({ theme: "dark", locale: "" }); // as stored, before the server answers
  await until(back, () => back.settings()?.locale === "zh");
});

test("a change of one setting keeps what another device changed in the others", async () => {
  const c = await loggedIn();
  await until(c, () => c.settings() !== undefined);
  server.settings = { hideRead: true }; // this device has not heard of it
  await c.updateSettings({ theme: "dark" });
  expect(c.settings()).toMatchObject({ theme: "dark", hideRead: true });
  expect(server.settings).toMatchObject({ theme: "dark", hideRead: true });
});

test("logs in with a code, and says which device it is", async () => {
  const storage = memoryStorage();
  const c = server.client(storage);
  clients.push(c);
  await c.start();
  await c.requestCode("me");
  await expect(c.logInWithCode("me", "000000")).rejects.toMatchObject({ reason: "bad_code" });
  await c.logInWithCode("me", "123456");
  await c.logOut();
  await c.logInWithCode("me", "123456");
  expect(server.devices.map((d) => d.device)).toEqual(["0", "5"]);
  expect(c.me).toBe(me);
});

test("a login that needs a second factor is complete with its code only", async () => {
  const storage = memoryStorage();
  const c = server.client(storage);
  clients.push(c);
  await c.start();
  server.secondFactor = "654321";
  for (const enter of [() => c.logIn("me", "a good password"), () => c.logInWithCode("me", "123456")]) {
    await expect(enter()).rejects.toMatchObject({ name: "SecondFactorNeeded", reason: "second_factor_needed", challenge: "rc_1", expiresMs: 1_800_000_000_000 });
  }
  expect(server.devices).toEqual([]);
  await expect(c.logInWithSecondFactor("me", "rc_1", "000000")).rejects.toMatchObject({ reason: "bad_second_factor" });
  await c.logInWithSecondFactor("me", "rc_1", "654321");
  expect(c.me).toBe(me);
  expect(server.devices).toHaveLength(1);
});

const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => String(from + i));

test("opens at a message far from the end, loads on to the end, and follows it from there", async () => {
  server.pushes = false;
  for (let i = 1; i <= 700; i++) server.write(String(i));
  server.pushes = true;
  const c = await loggedIn();
  await c.openAt(room, 101);
  expect(texts(c.messages(room))).toEqual(range(81, 180));
  expect(c.reachesEnd(room)).toBe(false);
  const histories = () => server.calls.filter((name) => name === "History").length;
  expect(histories()).toBe(2); // the end, and the page around it: not what lies between
  server.write("701");
  await until(c, () => c.conversation(room)?.lastSeq === 701);
  expect(texts(c.messages(room)).at(-1)).toBe("180"); // no hole
  c.read(room, 150);
  expect(unread(c.conversation(room)!)).toBe(701 - 150);
  await c.older(room);
  while (await c.newer(room));
  expect(texts(c.messages(room))).toEqual(range(31, 701));
  expect(c.reachesEnd(room)).toBe(true);
  server.write("702");
  await until(c, () => c.messages(room).at(-1)?.seq === 702);
});

test("returns to the end from where it was opened, without what lies between", async () => {
  server.pushes = false;
  for (let i = 1; i <= 1_000; i++) server.write(String(i));
  server.pushes = true;
  const c = await loggedIn();
  await c.openAt(room, 2);
  expect(texts(c.messages(room))).toEqual(range(1, 100));
  await c.openAt(room, 90); // it is there already
  expect(texts(c.messages(room))).toEqual(range(1, 100));
  await c.latest(room);
  expect(c.reachesEnd(room)).toBe(true);
  expect(texts(c.messages(room))).toEqual(range(951, 1_000));
  await c.openAt(room, 980); // it is there already
  expect(texts(c.messages(room))).toEqual(range(951, 1_000));
  await c.openAt(room, 900); // near the end: the hole is filled
  expect(texts(c.messages(room))).toEqual(range(880, 1_000));
  expect(c.reachesEnd(room)).toBe(true);
  await c.sendText(room, "mine");
  await until(c, () => c.messages(room).length === 122);
});

test("the server is told which posts are shown, on each connection, and those that are gone leave", async () => {
  const c = await loggedIn();
  const removed: string[] = [];
  c.watchPosts({ changed: () => {}, removed: (p) => removed.push(p), published: () => {}, shown: () => [{ id: "90", version: 2 }] });
  const watched = () => server.frames.flatMap((f) => (f.watchPosts ? [f.watchPosts.posts.map((p) => `${p.post}v${p.version}`).join()] : []));
  await server.until(() => watched().length === 1);
  server.cut();
  await server.until(() => watched().length === 2);
  expect(watched()).toEqual(["90v2", "90v2"]);
  server.refuseCall = (name) => (name === "GetPost" ? { code: "not_found", reason: "no_post" } : undefined);
  server.send({ changedPosts: ["90", "91"] });
  await vi.waitFor(() => expect(removed).toEqual(["90"]), { timeout: 30_000 });
});
