import { afterEach, beforeEach, expect, test } from "vitest";
import type { Client } from "../../src/index.js";
import { FakeServer, until } from "./fake.js";
import { mapUrl } from "../../src/mapUrl.js";

let server: FakeServer;
let client: Client | undefined;

beforeEach(async () => {
  server = await FakeServer.start();
});
afterEach(async () => {
  client?.close();
  await server.stop();
});

test("degrees are plain decimals, and only https addresses are links", () => {
  const pattern = "https://map.example.com/?lat={latitude}&lon={longitude}#{latitude}";
  expect(mapUrl(pattern, { latitude: 45.438, longitude: -0.000001 })).toBe("https://map.example.com/?lat=45.438&lon=-0.000001#45.438");
  expect(mapUrl(pattern, { latitude: 90, longitude: -180 })).toBe("https://map.example.com/?lat=90&lon=-180#90");
  expect(mapUrl(pattern, { latitude: -0.00000001, longitude: 0 })).toBe("https://map.example.com/?lat=0&lon=0#0");
  expect(mapUrl(pattern, { latitude: 1.23456789, longitude: 100.0000001 })).toBe("https://map.example.com/?lat=1.2345679&lon=100.0000001#1.2345679");
  for (const other of ["", "http://map.example.com/{latitude},{longitude}", "javascript:alert({latitude},{longitude})"]) expect(mapUrl(other, { latitude: 1, longitude: 2 })).toBeUndefined();
});

test("the server's map is known from the first hello on, and the last one counts", async () => {
  server.mapUrl = "https://map.example.com/{latitude},{longitude}";
  client = await server.loggedIn();
  const c = client;
  expect(c.mapUrl({ latitude: 1, longitude: 2 })).toBe("https://map.example.com/1,2");
  server.mapUrl = "";
  server.cut();
  await until(c, () => c.mapUrl({ latitude: 1, longitude: 2 }) === undefined);
});
