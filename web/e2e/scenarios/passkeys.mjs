// Passkeys: one is added in the settings, renamed, signs in alone, and is removed again.
import assert from "node:assert/strict";
import { confirm, phone, signIn } from "../harness.mjs";

/** An authenticator in the browser, which verifies its user without being asked. */
async function authenticator(page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send("WebAuthn.enable");
  const { authenticatorId } = await cdp.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", ctap2Version: "ctap2_1", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  return {
    credentials: async () => (await cdp.send("WebAuthn.getCredentials", { authenticatorId })).credentials,
  };
}

export default async function passkeys(w) {
  const byNumber = await w.ownServer(); // its pages at 127.0.0.1 have no passkeys
  const alice = await w.person("alice", "Alice");
  w.step("at an address without a name, the form offers none, and the settings say where they work");
  await alice.page.goto(`${w.url}/settings/security`);
  const there = alice.page.getByRole("main", { name: "Account protection" });
  await there.getByRole("button", { name: "Add a passkey" }).click();
  await there.getByRole("button", { name: "Create" }).click();
  await there.getByRole("alert").getByText("Passkeys do not work at this address").waitFor();

  w.url = `http://localhost:${byNumber.port}`;
  const page = await w.page();
  const device = await authenticator(page);
  await page.addInitScript(() => (PublicKeyCredential.isConditionalMediationAvailable = async () => false)); // it would take the first suggestion before the button is clicked
  await page.reload();
  await page.getByRole("button", { name: "Sign in with a passkey" }).waitFor();
  await w.shot(page, "46-passkey-sign-in");
  await signIn(page, alice.handle);
  await page.getByTestId("tab-chats").waitFor();

  w.step("a passkey is added under a name, and renamed");
  await page.goto(`${w.url}/settings/security`);
  const main = page.getByRole("main", { name: "Account protection" });
  await main.getByRole("button", { name: "Add a passkey" }).click();
  await main.getByLabel("Name of the passkey").fill("My laptop");
  await main.getByRole("button", { name: "Create" }).click();
  const rows = main.getByTestId("passkeys").getByRole("listitem");
  await rows.filter({ hasText: "My laptop" }).filter({ hasText: "Not used yet" }).waitFor();
  const stored = await device.credentials();
  assert.equal(stored.length, 1);
  assert.equal(stored[0].rpId, "localhost");
  assert.equal(stored[0].isResidentCredential, true);
  await rows.getByRole("button", { name: "Rename" }).click();
  await rows.getByLabel("Name of the passkey").fill("我的电脑");
  await rows.getByRole("button", { name: "Save" }).click();
  await rows.filter({ hasText: "我的电脑" }).waitFor();
  await w.shot(page, "47-passkeys");

  w.step("the same device gets no second one of the account");
  await main.getByRole("button", { name: "Add a passkey" }).click();
  await main.getByRole("button", { name: "Create" }).click();
  await main.getByRole("alert").getByText("This device has a passkey").waitFor();
  await main.getByRole("button", { name: "Cancel" }).click();
  assert.equal((await device.credentials()).length, 1);

  w.step("it signs in alone, without handle and password");
  await page.goto(`${w.url}/settings`);
  await page.getByTestId("sign-out").click();
  await confirm(page, "Sign out");
  const button = page.getByRole("button", { name: "Sign in with a passkey" });
  await button.click();
  await page.getByTestId("tab-chats").waitFor();
  assert.ok((await device.credentials())[0].signCount > stored[0].signCount, "the device has signed");

  w.step("the settings say that it was used; a phone shows them as well, in the dark");
  await page.goto(`${w.url}/settings/security`);
  await rows.filter({ hasText: "Last used" }).waitFor();
  await page.setViewportSize(phone);
  await page.emulateMedia({ colorScheme: "dark" });
  await w.shot(page, "48-passkeys-phone");
  await page.emulateMedia({ colorScheme: "light" });

  w.step("it is removed, and signs in no more; the password does");
  await rows.getByRole("button", { name: "Remove" }).click();
  await confirm(page, "Remove");
  await rows.first().waitFor({ state: "detached" });
  assert.equal((await device.credentials()).length, 1, "the device still has it");
  await page.goto(`${w.url}/settings`);
  await page.getByTestId("sign-out").click();
  await confirm(page, "Sign out");
  await button.click();
  await page.getByRole("alert").getByText("This passkey was not accepted").waitFor();
  await w.shot(page, "49-passkey-refused");
  await signIn(page, alice.handle);
  await page.getByTestId("tab-chats").waitFor();
}
