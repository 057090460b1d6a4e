import { registerKind, type Client } from "@rialto-im/client";
import { afterEach, expect, test, vi } from "vitest";
import { runExtension } from "../src/extensions.js";

const client = {} as Client;
/** The page of a server whose tag names some files. */
const page = (content?: string) => vi.stubGlobal("document", { querySelector: () => (content === undefined ? null : { content }) });

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

test("the first file that the page names is loaded, and gets the client and the registry", async () => {
  page("/extensions/1a/index.js /extensions/1a/texts.js");
  const loaded: string[] = [];
  const given: unknown[] = [];
  await runExtension(client, async (path) => (loaded.push(path), { default: (app: unknown) => given.push(app) }));
  expect(loaded).toEqual(["/extensions/1a/index.js"]);
  expect(given).toEqual([{ client, registerKind }]);
});

test("without extensions nothing is loaded, and one that fails does not keep the app from starting", async () => {
  const load = vi.fn(() => Promise.reject(new Error("404")));
  page();
  await runExtension(client, load);
  expect(load).not.toHaveBeenCalled();
  const errors = vi.spyOn(console, "error").mockImplementation(() => {});
  page("/extensions/1a/index.js");
  await runExtension(client, load);
  await runExtension(client, async () => ({ default: () => { throw new Error("broken"); } }));
  await runExtension(client, async () => ({}));
  expect(errors).toHaveBeenCalledTimes(3);
});

test("an extension that never ends does not keep the app from starting", async () => {
  page("/extensions/1a/index.js");
  const errors = vi.spyOn(console, "error").mockImplementation(() => {});
  await runExtension(client, () => new Promise(() => {}), 1);
  expect(errors.mock.calls[0]?.[0]).toContain("the app starts without it");
});
