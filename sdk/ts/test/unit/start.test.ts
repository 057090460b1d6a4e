import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { memoryStorage, type Client } from "../../src/index.js";
import { Status } from "../../src/gen/rialto/presence/v1/presence_pb.js";
import { FakeServer, bob, room, until } from "./fake.js";

let server: FakeServer;
const clients: Client[] = [];

beforeEach(async () => {
  server = await FakeServer.start();
});
afterEach(async () => {
  for (const c of clients.splice(0)) c.close();
  await server.stop();
  vi.unstubAllGlobals();
});

function made(...options: Parameters<FakeServer["client"]>): Client {
  const c = server.client(...options);
  clients.push(c);
  return c;
}

test("a login needs no start before it, and a start after it keeps the login", async () => {
  const storage = memoryStorage();
  const c = made(storage);
  await c.logIn("me", "a good password");
  await until(c, () => c.connection === "online");
  expect(await c.start()).toBe(true);
  expect(server.handshakes).toBe(1);
  expect(await made(storage).start()).toBe(true); // it was stored
});

test("before a login, calls and reads say that nobody is logged in, and none is a TypeError", async () => {
  const c = made();
  expect([c.me, c.login, c.connection, c.conversations(), c.messages(room)]).toEqual(["", undefined, "signed-out", [], []]);
  await expect(c.account.listSessions({})).rejects.toMatchObject({ reason: "logged_out" });
  await expect(c.sendText(room, "x")).rejects.toMatchObject({ reason: "logged_out" });
  await c.logOut(); // nothing to end
});

test("a user is found by their handle, and a chat with them is opened", async () => {
  server.users = [{ id: bob, handle: "bob1", displayName: "Bob" }];
  const c = made();
  await c.logIn("me", "a good password");
  const chat = await c.openDirect({ handle: "bob1" });
  expect([chat.peer, chat.title]).toEqual([bob, "Bob"]);
  await expect(c.openDirect({ handle: "nobody" })).rejects.toMatchObject({ reason: "no_user", message: "nobody has the handle nobody" });
});

test("profiles of more users than one call takes are fetched in several, and a call that fails holds up no other", async () => {
  server.users = Array.from({ length: 450 }, (_, i) => ({ id: String(1_000 + i), handle: `u${i}`, displayName: `User ${i}` }));
  const c = made();
  await c.logIn("me", "a good password");
  let calls = 0;
  server.refuseCall = (name) => (name === "GetUsers" && ++calls === 2 ? { code: "unavailable", reason: "down" } : undefined);
  const shown = () => server.users.map((u) => c.user(u.id!)?.displayName);
  shown();
  await server.until(() => server.calls.filter((name) => name === "GetUsers").length === 3);
  await until(c, () => c.user("1449") !== undefined);
  expect([c.user("1000"), c.user("1199"), c.user("1200"), c.user("1399"), c.user("1400")].map((u) => u?.displayName)).toEqual(["User 0", "User 199", undefined, undefined, "User 400"]);
  await until(c, () => shown().every((name) => name !== undefined)); // those are fetched as they are shown again
  expect(shown()).toEqual(server.users.map((u) => u.displayName));
});

test("a one-to-one conversation's title is the other's name, and then one's own remark", async () => {
  server.users = [{ id: bob, handle: "bob1", displayName: "Bob" }];
  server.direct(bob);
  const c = made();
  await c.logIn("me", "a good password");
  const title = () => c.conversations().find((v) => v.peer === bob)?.title;
  await until(c, () => title() === "Bob");
  const before = c.conversations();
  await c.relate(Promise.resolve({ user: bob, friend: true, remark: "Bobby" } as never));
  expect(title()).toBe("Bobby");
  expect(c.conversation("9")).toBe(c.conversations().find((v) => v.peer === bob)); // the same object in both
  expect(c.conversations()).not.toBe(before);
});

test("a list whose entries did not change stays the same array", async () => {
  const c = made();
  await c.logIn("me", "a good password");
  await until(c, () => c.conversations().length === 1 && !c.catchingUp);
  const before = c.conversations();
  const version = c.version();
  server.send({ typing: { conversation: room, user: bob } });
  await until(c, () => c.version() > version);
  expect(c.conversations()).toBe(before);
});

test("a message has its text, and a file its caption", async () => {
  const c = made();
  await c.logIn("me", "a good password");
  await c.open(room);
  server.append(server.store(room, { kind: { case: "image", value: { $typeName: "rialto.chat.v1.Media", upload: "1", name: "a.png", mimeType: "image/png", size: 1n, width: 1, height: 1, durationMs: 0, caption: "look", waveform: new Uint8Array(), poster: "0" } } }, bob));
  await c.sendText(room, "hello");
  expect(c.outgoing(room).map((m) => m.text)).toEqual(["hello"]);
  await until(c, () => c.messages(room).length === 2);
  expect(c.messages(room).map((m) => m.text)).toEqual(["look", "hello"]);
  expect(c.conversation(room)?.lastMessage?.text).toBe("hello");
});

test("messages that an older version stored have their text, too", async () => {
  const storage = memoryStorage();
  const c = made(storage);
  await c.logIn("me", "a good password");
  await c.open(room);
  server.write("old");
  await until(c, () => c.messages(room).length === 1);
  const { text: _, ...old } = c.messages(room)[0]!;
  c.close();
  const store = await storage.open("rialto-11");
  await store.write([{ table: "messages", key: `${room}/0000000000000001`, value: old }]);
  const again = made(storage);
  await again.start();
  await again.open(room);
  expect(again.messages(room).map((m) => m.text)).toEqual(["old"]);
});

test("without a socket, presence comes by calls, and is unknown once calls fail", async () => {
  server.sockets = false;
  server.presences = [{ user: bob, status: Status.ONLINE, lastActiveMs: 5n }];
  const c = made();
  await c.logIn("me", "a good password");
  c.watch([bob]);
  await until(c, () => c.connection === "polling" && c.presence(bob)?.online === true);
  expect(c.presence(bob)).toEqual({ status: "online", online: true, lastActiveMs: 5 });
  c.close();
  expect(c.presence(bob)).toBeUndefined();
});

test("where there is no WebSocket, the client polls at once", async () => {
  vi.stubGlobal("WebSocket", undefined);
  const c = made(memoryStorage(), { WebSocket: undefined });
  await c.logIn("me", "a good password");
  const states: string[] = [];
  c.on("connection", (s) => states.push(s));
  await until(c, () => c.connection === "polling");
  expect(states).toEqual(["polling"]); // no try of a socket before
  expect(server.calls).not.toContain("CreateTicket");
  await c.sendText(room, "by a call");
  await server.until(() => server.logs.get(room)!.length === 1);
});

test("a ping says how many tries the connection took", async () => {
  server.drops = 2;
  const c = made();
  server.heartbeatMs = 50;
  await c.logIn("me", "a good password");
  await server.until(() => server.frames.some((f) => f.ping));
  expect(server.frames.find((f) => f.ping)?.ping?.retries).toBe(2);
});

test("while pushes lag, calls bring the messages", async () => {
  const c = made();
  await c.logIn("me", "a good password");
  await until(c, () => c.connection === "online" && !c.catchingUp);
  await c.open(room);
  server.send({ pong: { timeMs: 100_000n } });
  server.write("late"); // stored at a time long before
  await until(c, () => c.messages(room).length === 1);
  server.pushes = false;
  server.write("not pushed");
  await until(c, () => c.messages(room).length === 2);
  expect(c.messages(room).map((m) => m.text)).toEqual(["late", "not pushed"]);
});

test("a page whose origin the server refuses is told so, and not that the server is away", async () => {
  vi.stubGlobal("location", { origin: "https://app.example.com" });
  const modes: (string | undefined)[] = [];
  let away = false;
  // As a browser does without the header: the answer is kept from the page, unless it does not want to read it.
  const browser = (_: unknown, init?: RequestInit) => {
    modes.push(init?.mode);
    return init?.mode === "no-cors" && !away ? Promise.resolve(new Response()) : Promise.reject(new TypeError("Failed to fetch"));
  };
  const c = made(memoryStorage(), { url: "https://chat.example.com", fetch: browser as typeof fetch });
  await expect(c.logIn("me", "a good password")).rejects.toMatchObject({
    code: "unavailable",
    reason: "origin",
    message: "https://chat.example.com answers, but not to pages of https://app.example.com (CORS): add https://app.example.com to its setting gateway.origins",
  });
  expect(modes).toEqual([undefined, "no-cors"]);
  away = true;
  await expect(c.logIn("me", "a good password")).rejects.toMatchObject({ reason: "offline", message: "https://chat.example.com is not reachable" });
});

test("a conversation that is empty when it is opened shows what comes while its history is read", async () => {
  const c = made();
  await c.logIn("me", "a good password");
  await until(c, () => c.connection === "online" && !c.catchingUp);
  server.refuseCall = (name) => {
    if (name !== "History") return undefined;
    server.refuseCall = undefined;
    server.pushes = false;
    queueMicrotask(() => server.write("first")); // after the answer was made
    return undefined;
  };
  await c.open(room);
  server.pushes = true;
  server.write("second");
  await until(c, () => c.messages(room).length === 2);
  expect(c.messages(room).map((m) => m.text)).toEqual(["first", "second"]);
});
