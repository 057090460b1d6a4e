// The operators' console: an operator signs in with a key, sees the node live, stops a waiting job, retries the dead letter, has a difference between stores repaired, and finds all in the audit log. An auditor,
// on a phone, in Chinese, only reads.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { binary, call, phone } from "../harness.mjs";

function keyOf(server, name, role) {
  return execFileSync(binary, ["admin", "key", "create", "--data", server.dir, "--name", name, "--role", role], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
}

export default async function operators(w) {
  const server = await w.ownServer();
  const admin = `http://127.0.0.1:${server.port + 1}`;
  const key = server.apiKey();
  const signIn = async (page, secret) => {
    await page.goto(`${admin}/console/`);
    await page.locator("input[name=key]").fill(secret);
    await page.keyboard.press("Enter");
  };
  // A message transaction that nobody commits leaves a job, which is due in some time.
  const [ann, bob] = [await w.user("ann", "Ann"), await w.user("bob", "Bob")];
  const conversation = await w.direct(ann, bob);
  await call(server.url, "transaction.v1.MessageTransactionService/PrepareMessages", { reference: "order 7", messages: [{ sender: ann.id, conversation, content: { text: "paid" } }], checkAfterSeconds: 3600 }, key);

  // A file that is lost is found within a minute.
  const upload = await call(server.url, "chat.v1.MediaService/CreateUpload", { name: "notes.txt", size: 9 }, ann.token);
  assert.equal((await fetch(new URL(upload.url, server.url), { method: "PUT", body: "some text" })).status, 204);
  await call(server.url, "chat.v1.MediaService/CompleteUpload", { upload: upload.upload }, ann.token);
  const file = readdirSync(join(server.dir, "blobs"), { recursive: true }).find((f) => f.endsWith(`/${upload.upload}`));
  rmSync(join(server.dir, "blobs", file));

  w.step("nothing of the console is on the public listener, and a key without a role does not sign in");
  assert.equal((await fetch(`${server.url}/console/console.html`)).status, 404);
  const page = await w.page({ colorScheme: "dark" });
  await signIn(page, key);
  await page.getByRole("alert").getByText("role").waitFor();
  await w.shot(page, "console-sign-in");

  w.step("an operator sees the node");
  await signIn(page, keyOf(server, "olga", "operator"));
  await page.getByTestId("answered").getByText("1 of 1 nodes answered").waitFor();
  const node = page.getByTestId("node");
  await node.getByText("gateway, api, worker").waitFor();
  assert.ok(!page.url().includes("ro_"), "the key is not in the URL");
  await w.send(ann, conversation, ["one", "two", "three"]);
  await page.getByRole("figure", { name: /Acknowledged/ }).locator("path").waitFor({ state: "attached" });
  await w.shot(page, "console-nodes");

  w.step("the operator stops the waiting job, and retries the dead letter");
  await page.getByRole("link", { name: "Jobs" }).click();
  await page.getByLabel("State").selectOption("waiting");
  await page.getByLabel("Queue").and(page.locator("select")).selectOption("transaction");
  await page.getByTestId("job").first().click();
  await page.getByRole("button", { name: "Stop" }).click();
  await page.getByLabel("Reason").fill("it disturbs");
  await page.getByRole("dialog", { name: "Stop" }).getByRole("button", { name: "Stop" }).click();
  await page.getByRole("button", { name: "Retry" }).waitFor();
  await w.shot(page, "console-job");
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByLabel("State").selectOption("dead letters");
  await page.getByTestId("job").click();
  await page.getByRole("button", { name: "Retry" }).click();
  await page.getByLabel("Reason").fill("the cause is gone");
  await page.getByRole("dialog", { name: "Retry" }).getByRole("button", { name: "Retry" }).click();
  await page.getByRole("button", { name: "Stop" }).waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByTestId("job").getByText(/rolled back/).waitFor(); // it ran at once, and failed for a reason of its own
  await w.shot(page, "console-jobs");

  w.step("limits show their settings and their use, caches their ratios, and the search index that it is complete");
  await page.getByRole("link", { name: "Limits" }).click();
  await page.getByTestId("row limits.send_user").getByText("5,000/s").waitFor();
  await page.getByTestId("row gateway.max_connections").getByText("100,000").waitFor();
  await page.getByTestId("row chat").waitFor();
  await w.shot(page, "console-limits");
  await page.getByRole("link", { name: "Caches and search" }).click();
  await page.getByRole("region", { name: "Search indexes" }).getByText("complete", { exact: true }).waitFor({ timeout: 120_000 });
  await page.getByRole("figure", { name: /Lag/ }).locator("path").waitFor({ state: "attached" });
  await page.getByRole("region", { name: "Caches" }).getByRole("row").nth(1).waitFor();
  await w.shot(page, "console-caches");

  w.step("likes are switched off, and on again");
  await page.getByRole("link", { name: "Features" }).click();
  for (const name of ["Switch off", "Switch on"]) {
    await page.getByTestId("likesOff").getByRole("button", { name }).click();
    await page.getByRole("dialog", { name }).getByRole("button", { name }).click();
    await page.getByTestId("likesOff").getByRole("button", { name: name === "Switch off" ? "Switch on" : "Switch off" }).waitFor();
  }
  await w.shot(page, "console-features");

  w.step("the operator has a lost file's upload dropped");
  await page.getByRole("link", { name: "Stores" }).click();
  const difference = page.getByTestId("difference");
  await difference.getByText(/Its file media\/.* is missing\./).waitFor({ timeout: 120_000 });
  await w.shot(page, "console-stores");
  await page.getByRole("button", { name: "中文" }).click();
  await difference.getByText(/文件 media\/.* 缺失。/).waitFor();
  await w.shot(page, "console-stores-chinese");
  await page.getByRole("button", { name: "English" }).click();
  await difference.getByRole("button", { name: "Repair" }).click();
  await page.getByLabel("Reason").fill("the disk was replaced");
  await page.getByRole("dialog", { name: "Repair" }).getByRole("button", { name: "Repair" }).click();
  await difference.waitFor({ state: "detached" });
  await page.getByText("The stores agree.").waitFor();

  w.step("the operator sees what is made of a video");
  const folder = mkdtempSync(join(tmpdir(), "rialto-console-"));
  const clip = join(folder, "clip.mkv");
  execFileSync("ffmpeg", ["-v", "error", "-f", "lavfi", "-i", "testsrc2=size=160x90:rate=10:duration=1", "-f", "lavfi", "-i", "sine=frequency=440:duration=1", "-c:v", "mpeg4", clip]);
  const bytes = readFileSync(clip);
  rmSync(folder, { recursive: true });
  const movie = await call(server.url, "chat.v1.MediaService/CreateUpload", { name: "clip.mkv", size: bytes.length }, ann.token);
  assert.equal((await fetch(new URL(movie.url, server.url), { method: "PUT", body: bytes })).status, 204);
  await call(server.url, "chat.v1.MediaService/CompleteUpload", { upload: movie.upload }, ann.token);
  const { id: video } = await call(server.url, "video.v1.VideoService/CreateVideo", { upload: movie.upload }, ann.token);
  await page.getByRole("link", { name: "Videos" }).click();
  await page.getByLabel("Id of the video").fill(video);
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("Published").waitFor({ timeout: 120_000 });
  assert.deepEqual(await page.getByTestId("stage").locator("bdi").allTextContents(), ["inspect", "90p", "audio", "thumbnails", "storyboard", "publish"]);
  assert.equal(await page.getByTestId("pipeline").locator("path").count(), 7); // the storyboard is made of 90p, so that 90p comes before publishing is not drawn
  await w.shot(page, "console-videos");
  await page.getByLabel("Id of the video").fill("1");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByRole("status").getByText("there is no such video").waitFor();

  w.step("the audit log has each change, the newest first");
  await page.getByRole("link", { name: "Audit log" }).click();
  await page.getByTestId("audit-entry").first().waitFor();
  const entries = await page.getByTestId("audit-entry").locator("strong").allTextContents();
  assert.deepEqual(entries, ["difference.repair", "switch.set", "switch.set", "job.retry", "job.discard", "key.create", "key.create"]);
  await page.getByTestId("audit-entry").nth(3).getByText("olga · the cause is gone").waitFor();
  await w.shot(page, "console-audit");

  w.step("an auditor reads, and does not change; signing out forgets the key");
  const small = await w.page({ locale: "zh-CN", viewport: phone, hasTouch: true, isMobile: true });
  await signIn(small, keyOf(server, "adam", "auditor"));
  await small.getByText("1 个节点中有 1 个已应答").waitFor();
  await w.shot(small, "console-phone-nodes");
  await small.getByRole("link", { name: "功能开关" }).click();
  await small.getByTestId("likesOff").waitFor();
  assert.equal(await small.getByTestId("likesOff").getByRole("button").count(), 0);
  await small.getByRole("link", { name: "限额" }).click();
  await small.getByTestId("row limits.send_user").getByText("5,000/秒").waitFor();
  await w.shot(small, "console-phone-limits");
  await small.getByRole("link", { name: "审计日志" }).click();
  await small.getByTestId("audit-entry").first().waitFor();
  assert.ok(await small.getByRole("link", { name: "审计日志" }).evaluate((a) => a.getBoundingClientRect().right <= innerWidth), "the current page is in sight in the navigation");
  await small.getByRole("link", { name: "任务" }).click();
  await small.getByTestId("queue").first().waitFor();
  await w.shot(small, "console-phone-jobs");
  await small.getByRole("button", { name: "退出" }).click();
  await small.reload();
  await small.locator("input[name=key]").waitFor();
}
