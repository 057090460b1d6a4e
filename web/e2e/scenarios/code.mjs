// Signing in with a code that the operator's own server sends.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { signIn } from "../harness.mjs";

export default async function code(w) {
  const codes = [];
  let arrived;
  const first = new Promise((resolve) => (arrived = resolve));
  const webhook = createServer(async (req, res) => {
    let body = "";
    for await (const part of req) body += part;
    codes.push(JSON.parse(body));
    res.end("{}");
    arrived();
  });
  await new Promise((resolve) => webhook.listen(0, "127.0.0.1", resolve));
  try {
    await w.ownServer("--set", `account.code_webhook.url=http://127.0.0.1:${webhook.address().port}/`, "--set", `account.code_webhook.secret=${"s".repeat(32)}`);
    const alice = await w.user("alice", "Alice");
    const page = await w.page();

    w.step("a code is asked for, mistyped, and entered");
    await page.getByRole("button", { name: "Sign in with a code" }).click();
    await page.getByLabel("Handle").fill(alice.handle);
    await page.getByRole("button", { name: "Send a code" }).click();
    await page.getByLabel("Code").waitFor();
    await first;
    await w.shot(page, "39-code");
    const wrong = codes[0].code === "000000" ? "000001" : "000000";
    await page.getByLabel("Code").fill(wrong);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByRole("alert").getByText("This code is wrong or has expired").waitFor();
    await page.getByLabel("Code").fill(codes[0].code);
    await page.keyboard.press("Enter");
    await page.getByTestId("tab-chats").waitFor();
  } finally {
    webhook.close();
  }

  w.step("a server that sends none offers none");
  const server = await w.ownServer();
  const bob = await w.user("bob", "Bob");
  const page = await w.page();
  await Promise.all([page.waitForResponse(/GetLoginMethods/), page.goto(server.url)]);
  await page.getByRole("button", { name: "Create an account" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Sign in with a code" }).count(), 0, "ways to sign in with a code");
  await signIn(page, bob.handle);
  await page.getByTestId("tab-chats").waitFor();
}
