import { IDBFactory } from "fake-indexeddb";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { FenceError, indexedDBStorage, memoryStorage, type Client, type Storage } from "../../src/index.js";
import { tables } from "../../src/storage.js";
import { FakeServer, me, room, until } from "./fake.js";

let server: FakeServer;
let storage: Storage;
const clients: Client[] = [];

beforeEach(async () => {
  server = await FakeServer.start();
  storage = indexedDBStorage(new IDBFactory()); // one browser's, which its windows share
});
afterEach(async () => {
  for (const c of clients.splice(0)) c.close();
  await server.stop();
  vi.unstubAllGlobals();
});

async function firstWindow(): Promise<Client> {
  const c = await server.loggedIn(storage);
  clients.push(c);
  return c;
}

function anotherWindow(on: Storage = storage): Client {
  const c = server.client(on);
  clients.push(c);
  return c;
}

/** What the device has of the user, but for the counters. */
async function stored(): Promise<Record<string, unknown[]>> {
  const store = await storage.open(`rialto-${me}`);
  const rows: Record<string, unknown[]> = {};
  for (const t of tables) rows[t] = await store.list(t);
  return rows;
}

const nothing = Object.fromEntries(tables.map((t) => [t, []]));

test("after a sign-out in one window, another one stores nothing any more, and ends", async () => {
  const a = await firstWindow();
  await a.sendText(room, "one");
  const b = anotherWindow();
  expect(await b.start()).toBe(true);
  await until(b, () => b.connection === "online" && !b.catchingUp);
  const ended: string[] = [];
  b.on("ended", (e) => ended.push(e.reason));
  await a.logOut();
  await expect(b.sendFile(room, new Blob(["secret"]), "secret.txt")).rejects.toMatchObject({ reason: "logged_out" });
  expect(ended).toEqual(["logged_out"]);
  await expect(b.sendText(room, "secret")).rejects.toMatchObject({ reason: "logged_out" });
  expect([b.me, b.connection, b.uploads()]).toEqual(["", "signed-out", []]);
  const { meta, ...rows } = await stored();
  expect({ meta: [], ...rows }).toEqual(nothing);
  expect(meta).toEqual([1, 1]); // the device's count of messages, and that of sign-outs
  await a.logIn("me", "a good password");
  await a.sendFile(room, new Blob(["x"]), "x.txt"); // a new login stores again
  expect((await stored())["uploads"]).toHaveLength(1);
});

test("a window that starts while another one signs out stores nothing", async () => {
  const a = await firstWindow();
  const slow: Storage = {
    shared: true,
    async open(name) {
      if (name === `rialto-${me}`) await a.logOut(); // between what the start reads
      return storage.open(name);
    },
  };
  const b = anotherWindow(slow);
  expect(await b.start()).toBe(false);
  expect([b.me, b.connection]).toEqual(["", "signed-out"]);
  const { meta: _, ...rows } = await stored();
  expect({ meta: [], ...rows }).toEqual(nothing);
});

for (const [name, made] of Object.entries({ memory: memoryStorage, IndexedDB: () => indexedDBStorage(new IDBFactory()) })) {
  test(`${name}: a write and a count whose fence does not hold change nothing`, async () => {
    const store = await made().open("x");
    const old = { counter: "sign_outs", value: 0 };
    await store.write([{ table: "users", key: "1", value: "a" }], old);
    expect(await store.count("sent", 0, old)).toBe(1);
    await store.clear(["sent"], "sign_outs");
    await expect(store.write([{ table: "users", key: "1", value: "b" }], old)).rejects.toThrow(FenceError);
    await expect(store.count("sent", 0, old)).rejects.toThrow(FenceError);
    expect([await store.list("users"), await store.get("meta", "sent"), await store.get("meta", "sign_outs")]).toEqual([[], 1, 1]);
    const next = { counter: "sign_outs", value: 1 };
    await store.write([{ table: "users", key: "1", value: "c" }], next);
    expect([await store.list("users"), await store.count("sent", 0, next)]).toEqual([["c"], 2]);
  });
}
