// Measures the first visit of the web app on a slow line: bytes, first paint, and when one can sign in; and a second visit.
//
//   node e2e/first-paint.mjs     TEST_BINARY (bin/rialto), RATE=400 (kbit/s), LATENCY=100 (ms), RUNS=3; the median is printed
import { performance } from "node:perf_hooks";
import { chromium } from "playwright-core";
import { browserPath } from "./browser.mjs";
import { binary, Server } from "./harness.mjs";

const kbits = Number(process.env.RATE ?? 400);
const latency = Number(process.env.LATENCY ?? 100);
const runs = Number(process.env.RUNS ?? 3);

/** Opens the app and waits for the form. Bytes are those received until then, with headers. */
async function visit(context, url) {
  const page = await context.newPage();
  const cdp = await context.newCDPSession(page);
  await cdp.send("Network.enable");
  await cdp.send("Network.emulateNetworkConditions", { offline: false, latency, downloadThroughput: (kbits * 1000) / 8, uploadThroughput: (kbits * 1000) / 8 });
  let bytes = 0;
  cdp.on("Network.loadingFinished", (e) => (bytes += e.encodedDataLength));
  await page.goto(url, { waitUntil: "commit" });
  await page.locator("input[name=handle]").waitFor();
  const usable = await page.evaluate(() => performance.now());
  const painted = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime);
  const found = { bytes, painted, usable };
  await page.waitForLoadState("networkidle");
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  await page.close();
  return found;
}

const median = (list, key) => Math.round(list.map((r) => r[key]).sort((a, b) => a - b)[Math.floor(list.length / 2)]);
const row = (name, list) => console.log(`${name.padEnd(14)} ${String(median(list, "bytes")).padStart(9)} B  first paint ${String(median(list, "painted")).padStart(6)} ms  form ${String(median(list, "usable")).padStart(6)} ms`);

const server = await Server.start();
const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"] });
const begun = performance.now();
const first = [];
const second = [];
for (let i = 0; i < runs; i++) {
  const context = await browser.newContext();
  first.push(await visit(context, server.url));
  second.push(await visit(context, server.url));
  await context.close();
}
console.log(`${binary}: ${kbits} kbit/s, ${latency} ms, median of ${runs} (${Math.round((performance.now() - begun) / 1000)} s)`);
row("first visit", first);
row("second visit", second);
await browser.close();
await server.remove();
