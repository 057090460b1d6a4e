// One's own data: an archive is made and downloaded; the account is planned to be deleted, and kept.
import assert from "node:assert/strict";
import { confirm } from "../harness.mjs";

export default async function data(w) {
  const alice = await w.person("alice", "Alice");
  const { page } = alice;

  w.step("an archive is made, and has the profile");
  await page.goto(`${w.url}/settings/data`);
  const main = page.getByRole("main", { name: "Your data" });
  await main.getByTestId("request-export").click();
  const ready = main.getByTestId("export-ready");
  await ready.waitFor({ timeout: 60_000 });
  const address = await ready.getByRole("link").getAttribute("href");
  const archive = await fetch(new URL(address, w.url));
  assert.equal(archive.status, 200);
  const bytes = Buffer.from(await archive.arrayBuffer());
  assert.equal(bytes.subarray(0, 2).toString(), "PK");
  assert.ok(bytes.includes("users.jsonl") && bytes.includes("manifest.json"));

  w.step("the account is planned to be deleted, and kept");
  await main.getByTestId("erase-account").click();
  await confirm(page, "Delete the account");
  await main.getByTestId("erasure-planned").waitFor();
  await page.reload();
  await main.getByTestId("cancel-erasure").click();
  await main.getByTestId("erase-account").waitFor();
}
