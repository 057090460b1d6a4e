import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { Client, memoryStorage } from "../../src/index.js";
import type { Context } from "../../src/operations/context.js";
import { areas } from "../../src/operations/index.js";

/** Areas only keep what they get. */
const context = { services: {} } as Context;

test("each operation is in one area, and each area gives the client its operations", () => {
  const names = Object.values(areas).flatMap((area) => Object.keys(area(context)));
  expect(names.length).toBeGreaterThan(60);
  expect([...new Set(names)]).toEqual(names);
  const client = new Client({ storage: memoryStorage() });
  expect(names.filter((name) => typeof client[name as keyof Client] !== "function")).toEqual([]);
  const files = readdirSync(new URL("../../src/operations", import.meta.url)).map((file) => file.replace(".ts", ""));
  expect(files.filter((file) => !["context", "index"].includes(file)).length).toBe(Object.keys(areas).length);
});

test("an operation needs no receiver, and says that nobody is logged in", async () => {
  const { sendText, open, messages, badge } = new Client({ storage: memoryStorage() });
  expect([messages("7"), badge()]).toEqual([[], 0]);
  await expect(sendText("7", "hi")).rejects.toMatchObject({ code: "unauthenticated", reason: "logged_out" });
  await expect(open("7")).rejects.toMatchObject({ code: "unauthenticated" });
});
