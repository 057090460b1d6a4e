import { afterEach, beforeEach, expect, test } from "vitest";
import type { Client } from "../../src/index.js";
import { FakeServer, bob, me, room, until } from "./fake.js";

let server: FakeServer;
let c: Client;

beforeEach(async () => {
  server = await FakeServer.start();
  c = await server.loggedIn();
});
afterEach(async () => {
  c.close();
  await server.stop();
});

test("all versions of a message, from its first to the present one", async () => {
  await c.open(room);
  await c.sendText(room, "tomorow?");
  await until(c, () => c.messages(room).length === 1);
  await c.edit(room, 1, "tomorrow?");
  await until(c, () => c.messages(room)[0]?.text === "tomorrow?" && c.messages(room)[0]?.editSeq === 2);
  const first = await c.versions(room, 1);
  const rest = await c.versions(room, 1, first.next);
  expect([...first.versions, ...rest.versions].map((v) => [v.text, v.editedMs])).toEqual([["tomorow?", undefined], ["tomorrow?", 1_002]]);
  expect(rest.next).toBe("");
});

test("who reacted to a message, in pages", async () => {
  server.write("lunch?");
  const first = await c.reactors(room, 1, "👍");
  const rest = await c.reactors(room, 1, "👍", first.next);
  expect([first.users, rest]).toEqual([[bob], { users: [me], next: "" }]);
});

test("the first message since a time", async () => {
  for (let i = 1; i <= 30; i++) server.write(String(i)); // the n-th at 1,000 + n
  expect(await c.seqAt(room, 1_012)).toBe(12);
  expect(await c.seqAt(room, 1_011.5)).toBe(11);
  expect(await c.seqAt(room, -5)).toBe(1);
  expect(await c.seqAt(room, 2_000)).toBeUndefined();
});
