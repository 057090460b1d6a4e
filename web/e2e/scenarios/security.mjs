// Two-step sign-in: an authenticator app is set up, asked for at the next sign-in, and turned off again.
import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { confirm, password, signIn } from "../harness.mjs";

/** The code of RFC 6238 that an app with this secret shows some steps of 30 seconds from now. */
function totp(secret, steps = 0) {
  const bits = [...secret.replaceAll(" ", "")].map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0")).join("");
  const key = Buffer.from(bits.match(/.{8}/g).map((b) => parseInt(b, 2)));
  const step = Buffer.alloc(8);
  step.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const sum = createHmac("sha1", key).update(step).digest();
  return String((sum.readUInt32BE(sum.at(-1) & 15) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

/** Enters a code and submits it, and again with a new one while the call is refused: on a busy machine, the period of a code may end before it arrives. */
async function enter(page, field, code, call, submit) {
  for (let ok = false; !ok; ) {
    await field.fill(code());
    const answer = page.waitForResponse((r) => r.url().endsWith(`/${call}`));
    await submit();
    ok = (await answer).ok();
  }
}

export default async function security(w) {
  const alice = await w.person("alice", "Alice");
  const { page } = alice;

  w.step("an authenticator app is set up: a wrong code is refused; recovery codes are shown once");
  await page.goto(`${w.url}/settings/security`);
  const main = page.getByRole("main", { name: "Account protection" });
  await main.getByRole("button", { name: "Set up an authenticator app" }).click();
  await main.getByRole("img", { name: "QR code for your authenticator app" }).waitFor();
  const secret = await main.getByTestId("totp-secret").innerText();
  await w.shot(page, "42-authenticator");
  await main.getByLabel("Code of your authenticator app").fill("000000");
  await main.getByRole("button", { name: "Turn on" }).click();
  await main.getByRole("alert").getByText("This code is wrong, has expired or was used before").waitFor();
  // The code before the present one, so that the next ones are left for signing in.
  await enter(page, main.getByLabel("Code of your authenticator app"), () => totp(secret, -1), "ConfirmTotp", () => main.getByRole("button", { name: "Turn on" }).click());
  const shown = page.getByTestId("recovery-codes").getByRole("listitem");
  await shown.first().waitFor();
  const codes = await shown.allInnerTexts();
  assert.equal(codes.length, 10);
  await w.shot(page, "43-recovery-codes");
  await page.getByRole("button", { name: "I have kept them" }).click();
  await main.getByText("Recovery codes that are left: 10").waitFor();

  w.step("signing in asks for the code after the password; a wrong one may be corrected");
  const other = await w.page();
  await other.goto(w.url);
  await signIn(other, alice.handle);
  await other.getByLabel("Code of your authenticator app").fill("000000");
  await w.shot(other, "44-second-factor");
  await other.getByRole("button", { name: "Sign in", exact: true }).click();
  await other.getByRole("alert").getByText("This code is wrong, has expired or was used before").waitFor();
  await enter(other, other.getByLabel("Code of your authenticator app"), () => totp(secret), "LoginWithSecondFactor", () => other.keyboard.press("Enter"));
  await other.getByTestId("tab-chats").waitFor();

  w.step("a recovery code signs in once");
  const third = await w.page();
  await third.goto(w.url);
  await signIn(third, alice.handle);
  await third.getByLabel("Code of your authenticator app").fill(codes[0].toLowerCase());
  await third.keyboard.press("Enter");
  await third.getByTestId("tab-chats").waitFor();
  await page.reload();
  await main.getByText("Recovery codes that are left: 9").waitFor();

  w.step("a session that is not confirmed asks who it is: with the password and a code");
  let old = true; // as if the session was older than ten minutes
  await page.route("**/CreateRecoveryCodes", (route) =>
    old ? route.fulfill({ status: 403, contentType: "application/json", body: JSON.stringify({ code: "permission_denied", message: "confirm", details: [{ debug: { reason: "confirm_identity" } }] }) }) : route.continue());
  await main.getByRole("button", { name: "New recovery codes" }).click();
  await page.getByRole("alertdialog").getByRole("button", { name: "New recovery codes" }).click();
  const dialog = page.getByRole("dialog", { name: "Confirm that it is you" });
  await dialog.getByLabel("Password").fill("not the password");
  await dialog.getByLabel("Code of your authenticator app").fill(codes[1]);
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await dialog.getByText("The current password is wrong.").waitFor();
  await w.shot(page, "45-confirm-identity");
  old = false;
  await dialog.getByLabel("Password").fill(password);
  await dialog.getByRole("button", { name: "Confirm" }).click();
  await shown.first().waitFor();
  assert.equal((await shown.allInnerTexts()).filter((c) => codes.includes(c)).length, 0, "codes that are not new");
  await page.getByRole("button", { name: "I have kept them" }).click();

  w.step("it is turned off, and signing in needs the password only");
  await main.getByRole("button", { name: "Turn off two-step sign-in" }).click();
  await confirm(page, "Turn off two-step sign-in");
  await main.getByRole("button", { name: "Set up an authenticator app" }).waitFor();
  await w.device(alice).then((device) => device.getByTestId("tab-chats").waitFor());
}
