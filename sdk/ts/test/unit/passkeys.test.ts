import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { hasPasskeys, memoryStorage, suggestsPasskeys, type Client } from "../../src/index.js";
import { FakeServer, me } from "./fake.js";

let server: FakeServer;
let client: Client;
const buffer = (...b: number[]) => Uint8Array.from(b).buffer;
const text = (b: BufferSource) => Buffer.from(b as ArrayBuffer).toString("base64url");

beforeEach(async () => {
  server = await FakeServer.start();
  client = server.client(memoryStorage());
  await client.start();
});
afterEach(async () => {
  vi.unstubAllGlobals();
  client.close();
  await server.stop();
});

/** A browser whose authenticator answers with bytes that differ in base64url from base64. */
function browser(answers: { create?: (o: CredentialCreationOptions) => unknown; get?: (o: CredentialRequestOptions) => unknown }) {
  vi.stubGlobal("PublicKeyCredential", { isConditionalMediationAvailable: async () => true });
  vi.stubGlobal("navigator", { credentials: answers });
}

const rawId = buffer(0xfb, 0xff, 1);
const clientDataJSON = buffer(0x7b, 0x7d);

test("a browser without passkeys says so, and asks for none", async () => {
  expect(hasPasskeys()).toBe(false);
  expect(await suggestsPasskeys()).toBe(false);
  await expect(client.logInWithPasskey()).rejects.toMatchObject({ reason: "passkeys_unavailable" });
});

test("a login with a passkey: the authenticator gets the bytes of the options, the server those of the answer", async () => {
  const asked: CredentialRequestOptions[] = [];
  browser({
    get: async (o) => {
      asked.push(o);
      return { rawId, type: "public-key", response: { clientDataJSON, authenticatorData: buffer(1), signature: buffer(0xff, 0xfe), userHandle: buffer(9) } };
    },
  });
  expect(hasPasskeys() && (await suggestsPasskeys())).toBe(true);
  server.passkeyOptions = { challenge: "-_8B", rpId: "localhost", userVerification: "required" };
  await client.logInWithPasskey({ suggest: true });
  expect(client.me).toBe(me);
  expect(text(asked[0]!.publicKey!.challenge)).toBe("-_8B");
  expect(asked[0]).toMatchObject({ mediation: "conditional", publicKey: { rpId: "localhost", userVerification: "required", allowCredentials: [] } });
  const id = "-_8B";
  expect(server.credentials).toEqual([{ id, rawId: id, type: "public-key", response: { clientDataJSON: "e30", authenticatorData: "AQ", signature: "__4", userHandle: "CQ" }, clientExtensionResults: {} }]);
  // The next login with it is of the same device.
  await client.logOut();
  await client.logInWithPasskey();
  expect(asked[1]).not.toHaveProperty("mediation");
  expect(server.devices.map((d) => d.device)).toEqual(["0", "5"]);
});

test("a passkey is created and added under its name", async () => {
  await client.logIn("me", "a good password");
  const asked: CredentialCreationOptions[] = [];
  browser({
    create: async (o) => {
      asked.push(o);
      return { rawId, type: "public-key", response: { clientDataJSON, attestationObject: buffer(3), getTransports: () => ["internal"] } };
    },
  });
  server.passkeyOptions = { challenge: "AQ", rp: { id: "localhost", name: "Rialto" }, user: { id: "Ag", name: "me", displayName: "Me" }, excludeCredentials: [{ type: "public-key", id: "-w" }] };
  expect((await client.addPasskey("Phone")).name).toBe("Phone");
  const o = asked[0]!.publicKey!;
  expect([o.challenge, o.user.id, o.excludeCredentials![0]!.id].map(text)).toEqual(["AQ", "Ag", "-w"]);
  expect(o.rp).toEqual({ id: "localhost", name: "Rialto" });
  expect(server.credentials).toMatchObject([{ response: { attestationObject: "Aw", transports: ["internal"] } }]);
});

test("what the browser refuses has a reason", async () => {
  for (const [name, reason] of [["NotAllowedError", "passkey_canceled"], ["AbortError", "passkey_canceled"], ["InvalidStateError", "passkey_exists"], ["SecurityError", "passkeys_unavailable"]]) {
    browser({ get: () => Promise.reject(Object.assign(new Error("x"), { name })) });
    await expect(client.logInWithPasskey()).rejects.toMatchObject({ reason });
  }
  browser({ get: async () => null });
  await expect(client.logInWithPasskey()).rejects.toMatchObject({ reason: "passkey_canceled" });
  expect(server.credentials).toEqual([]);
});
