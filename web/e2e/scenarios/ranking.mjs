// "For you" for readers and operators: what a reader opens arrives in the examples for training, also what was opened while offline, and nothing of one who has turned personalization off. In the console, an
// operator compares two models, activates one, sets a weight, has a score explained, and goes back; an auditor, on a phone, in Chinese, only reads.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { binary, dialog, phone } from "../harness.mjs";

const features = ["recency", "likes", "comments", "affinity", "followed", "network", "seen", "shown_less", "similarity", "video", "images", "goods"];

/** A model's file, as rialto rank train writes it. */
function modelFile(gain, withConversions) {
  const curve = (bend) => Array.from({ length: 21 }, (_, i) => ({ x: i / 20, y: (i / 20) ** bend }));
  const quality = (auc, bend) => ({ auc, ndcg_20: auc - 0.1, coverage: 0.4, roc: curve(bend) });
  const calibration = (shift) => Array.from({ length: 10 }, (_, i) => ({ estimated: 0.02 + i * 0.05, observed: 0.02 + i * 0.05 + shift * (i % 2 ? 1 : -1), examples: 40 }));
  const head = { bias: -2, weights: features.map((_, i) => (i % 3 === 2 ? -gain : gain) / (i + 1)), scale: 1, shift: 0, examples: 1200, positives: 240 };
  const model = JSON.stringify({
    features, click: head, ...(withConversions ? { conversion: { ...head, bias: -4 } } : { no_conversion: "0 conversions of posts with goods; 50 are needed" }),
    evaluation: {
      examples: 400, lists: 20, clicks: 80, model: quality(0.7 + gain / 20, 0.4), popularity: quality(0.66, 0.6), recency: quality(0.5, 1), calibration_error: 0.01, log_loss: 0.4, base_log_loss: 0.5, calibration: calibration(0.01),
      ...(withConversions ? { conversions: { examples: 100, positives: 20, auc: 0.7, calibration_error: 0.005, calibration: calibration(0.005) } } : {}),
    },
  });
  return JSON.stringify({ format: 1, checksum: createHash("sha256").update(model).digest("hex"), model: 0 }).replace('"model":0', `"model":${model}`);
}

const list = (p) => p.locator("section.feed");
const post = (p, text) => list(p).getByTestId("post").filter({ hasText: text }).first();

export default async function ranking(w) {
  const server = await w.ownServer();
  const admin = `http://127.0.0.1:${server.port + 1}`;
  const folder = mkdtempSync(join(tmpdir(), "rialto-ranking-"));
  const keyFile = (name, role) => {
    const path = join(folder, name);
    writeFileSync(path, execFileSync(binary, ["admin", "key", "create", "--data", server.dir, "--name", name, "--role", role], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }));
    return path;
  };
  const [olga, adam] = [keyFile("olga", "operator"), keyFile("adam", "auditor")];
  const rank = (verb, ...flags) => execFileSync(binary, ["rank", verb, "--url", admin, ...flags], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  /** The examples for training, by their posts. */
  const examples = () => {
    const out = join(folder, "examples.jsonl");
    rank("examples", "--key", `@${adam}`, "--out", out);
    const lines = readFileSync(out, "utf8").trim().split("\n").slice(1).map((l) => l.replace(/"(list|post)":(\d+)/g, '"$1":"$2"')).map((l) => JSON.parse(l));
    return new Map(lines.map((e) => [e.post, e]));
  };
  const become = async (what, isTrue) => {
    for (let n = 0; n < 300; n++) {
      if (isTrue()) return;
      await new Promise((resolve) => setTimeout(resolve, 400)); // between one question and the next
    }
    assert.fail(what);
  };

  const ana = await w.user("ana", "Ana");
  const publish = async (title, more = {}) => (await w.call("feed.v1.FeedService/Publish", { clientPostId: crypto.randomUUID(), content: { title, ...more } }, ana.token)).id;
  const [bread, tea, lamp, soup] = [await publish("Bread"), await publish("Tea"), await publish("Lamp", { goods: [{ name: "A lamp", priceMinor: 4905, currency: "EUR", link: "https://example.org/lamp" }] }), await publish("Soup")];
  const [bob, carol] = [await w.person("bob", "Bob"), await w.person("carol", "卡萝", { locale: "zh-CN", viewport: phone, hasTouch: true, isMobile: true })];
  for (const u of [bob, carol]) await w.call("account.v1.GraphService/Follow", { user: ana.id }, u.token);

  w.step("what a reader opens arrives in the examples, also what was opened while offline; what was only on the screen is no click");
  const { page: b } = bob;
  await b.goto(`${w.url}/feed/foryou`);
  await post(b, "Bread").getByText("Bread").click();
  await b.waitForURL(`**/feed/${bread}`);
  const recorded = b.waitForRequest("**/*.RankingService/RecordClicks");
  const popup = b.context().waitForEvent("page");
  await b.context().route("https://example.org/**", (r) => r.fulfill({ body: "a lamp" }));
  await post(b, "Lamp").getByTestId("goods").click();
  await (await popup).close();
  await recorded;
  await b.context().setOffline(true);
  await post(b, "Tea").getByText("Tea").click();
  await b.waitForURL(`**/feed/${tea}`);
  await b.waitForEvent("requestfailed", (r) => r.url().endsWith("/RecordClicks"));
  await b.context().setOffline(false);
  await post(b, "Bread").getByText("Bread").click();
  await b.evaluate(() => {
    Object.defineProperty(document, "visibilityState", { value: "hidden" });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await become("the posts that were opened are examples", () => [bread, lamp, tea].every((p) => examples().get(p)?.clicked));
  assert.equal(examples().get(soup)?.clicked ?? false, false, "a post that was only on the screen counts as opened");

  w.step("of a reader who turns personalization off, nothing is recorded or used any more");
  const { page: c } = carol;
  await c.goto(`${w.url}/settings/privacy`);
  await c.getByTestId("personalization").uncheck();
  await c.getByText("关闭后，").waitFor();
  await w.shot(c, "98-personalization");
  let calls = 0;
  c.on("request", (r) => (calls += r.url().endsWith("/RecordClicks") ? 1 : 0));
  await c.goto(`${w.url}/feed/foryou`);
  await post(c, "Soup").getByText("Soup").click();
  await c.waitForURL(`**/feed/${soup}`);
  await c.evaluate(() => {
    Object.defineProperty(document, "visibilityState", { value: "hidden" });
    document.dispatchEvent(new Event("visibilitychange"));
  });
  await b.goto(`${w.url}/settings/privacy`);
  await b.getByTestId("personalization").uncheck();
  await w.shot(b, "98-personalization-desktop");
  await become("no examples are left", () => examples().size === 0);
  assert.equal(calls, 0, "a reader without personalization sends what was opened");
  await b.getByTestId("personalization").check();
  await become("the examples are used again", () => examples().size >= 3);

  w.step("an operator compares two models, and activates one");
  for (const [n, gain, conversions] of [[1, 1, false], [2, 2, true]]) {
    writeFileSync(join(folder, "model.json"), modelFile(gain, conversions));
    rank("upload", "--key", `@${olga}`, "--model", join(folder, "model.json"), "--reason", n === 1 ? "the first one" : "more data");
  }
  const signIn = async (page, file) => {
    await page.goto(`${admin}/console/`);
    await page.locator("input[name=key]").fill(readFileSync(file, "utf8").trim());
    await page.keyboard.press("Enter");
  };
  const page = await w.page();
  await signIn(page, olga);
  await page.getByRole("link", { name: "For you" }).click();
  await page.getByTestId("ranked-by").getByText("The weights rank.").waitFor();
  await page.getByRole("button", { name: "Model 2" }).click();
  await page.getByLabel("Compare with").selectOption("1");
  await page.getByTestId("model-report").getByTestId("row order Model 1").getByText("0.750").waitFor();
  await page.getByTestId("row order Model 2").getByText("0.800").waitFor();
  assert.equal(await page.getByRole("figure", { name: "ROC" }).locator("polyline").count(), 4);
  assert.equal(await page.getByRole("figure", { name: "Calibration of clicks" }).locator("circle").count(), 20);
  await w.shot(page, "console-ranking");
  await page.getByRole("figure", { name: "Calibration of conversions" }).scrollIntoViewIfNeeded();
  await w.shot(page, "console-ranking-plots");
  await page.getByRole("button", { name: "Activate" }).click();
  await dialog(page).getByLabel("Reason").fill("it is better");
  await w.shot(page, "console-ranking-activate");
  await dialog(page).getByRole("button", { name: "Activate" }).click();
  await page.getByTestId("ranked-by").getByText("Model 2 ranks.").waitFor();
  await page.getByTestId("model-changes").getByText("olga · Model 2 · it is better").waitFor();

  w.step("the operator has a score explained, and changes a weight");
  await page.getByLabel("Id of the reader").fill(bob.id);
  await page.getByLabel("Id of the post").fill(lamp);
  await page.getByRole("button", { name: "Explain" }).click();
  const explanation = page.getByTestId("explanation");
  await explanation.getByText("Comes from: followed users").waitFor();
  for (const row of ["part click", "part conversion", "part total", "term followed"]) await explanation.getByTestId(`row ${row}`).first().waitFor();
  await page.getByRole("heading", { name: "Explain a score" }).evaluate((e) => e.scrollIntoView({ block: "center" }));
  await w.shot(page, "console-ranking-explain");
  await page.getByRole("form", { name: "Weights" }).getByLabel("click", { exact: true }).fill("300");
  await page.getByRole("button", { name: "Change" }).click();
  await dialog(page).getByText("click 400 → 300").waitFor();
  await dialog(page).getByLabel("Reason").fill("a test");
  await dialog(page).getByRole("button", { name: "Change" }).click();
  await page.getByTestId("weight-changes").getByText("click: 300").waitFor();

  w.step("the operator goes back to the weights; all is in the audit log");
  await page.getByRole("button", { name: "Rank by the weights" }).click();
  await dialog(page).getByRole("button", { name: "Rank by the weights" }).click();
  await page.getByTestId("ranked-by").getByText("The weights rank.").waitFor();
  await page.getByRole("link", { name: "Audit log" }).click();
  await page.getByTestId("audit-entry").first().waitFor();
  assert.deepEqual((await page.getByTestId("audit-entry").locator("strong").allTextContents()).filter((a) => a !== "key.create"), ["switch.set", "switch.set", "switch.set", "ranking.put_model", "ranking.put_model"]);

  w.step("an auditor reads, and does not change");
  const small = await w.page({ locale: "zh-CN", viewport: phone, colorScheme: "dark", hasTouch: true, isMobile: true });
  await signIn(small, adam);
  await small.getByRole("link", { name: "推荐" }).click();
  await small.getByRole("button", { name: "模型 1" }).click();
  await small.getByTestId("row order 模型 1").waitFor();
  for (const name of ["启用", "改用权重排序", "修改"]) assert.equal(await small.getByRole("button", { name }).count(), 0, `an auditor may ${name}`);
  await w.shot(small, "console-phone-ranking");
  await small.getByRole("form", { name: "权重" }).scrollIntoViewIfNeeded();
  await w.shot(small, "console-phone-ranking-weights");
  rmSync(folder, { recursive: true });
}
