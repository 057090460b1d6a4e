// Browsers chat through a real server. Each file in scenarios/ is a scenario with users of its own; all share one server and one
// browser, and three run at a time. `node e2e/run.mjs groups people` runs these two alone, and SHARE=0/2 the first of two
// parts of them. Screenshots are kept in artefacts/.
//
// TEST_BINARY names the server's binary, CHROMIUM the browser, and WHOLE_CHROMIUM the one that shows notifications (else browser.mjs finds them).
import { existsSync, mkdirSync, readdirSync } from "node:fs";
import { performance } from "node:perf_hooks";
import { chromium } from "playwright-core";
import { browserPath } from "./browser.mjs";
import { binary, extension, Server, shots, World } from "./harness.mjs";

const atOnce = 3;
const mostMs = 900_000; // of a scenario, on a busy machine
for (const [what, path] of [["the server's binary (make build)", binary], ["chromium (apt install chromium-headless-shell, or chromium)", browserPath]]) {
  if (!existsSync(path)) {
    console.error(`missing: ${what} at ${path}`);
    process.exit(1);
  }
}
const known = readdirSync(new URL("scenarios/", import.meta.url)).map((f) => f.replace(/\.mjs$/, "")).sort();
const [part, parts] = (process.env.SHARE ?? "0/1").split("/").map(Number);
const wanted = process.argv.length > 2 ? process.argv.slice(2) : known.filter((_, n) => n % parts === part);
if (wanted.length === 0) {
  console.error(`SHARE=${process.env.SHARE} selects no scenario: give K/N, the K-th (from 0) of N parts`);
  process.exit(1);
}
for (const name of wanted) {
  if (known.includes(name)) continue;
  console.error(`there is no scenario ${name}; there are ${known.join(", ")}`);
  process.exit(1);
}
mkdirSync(shots, { recursive: true });

const server = await Server.start("--set", `web.extensions=${extension}`);
const browser = await chromium.launch({
  executablePath: browserPath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"],
});
const failures = [];

/** Each step is bounded by Playwright. This bounds what waits for something else, as for the server. */
async function bounded(work) {
  let timer;
  const late = new Promise((_, reject) => (timer = setTimeout(() => reject(new Error("the scenario does not end")), mostMs)));
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function run(name) {
  const world = new World(name, browser, server.url);
  const begun = performance.now();
  try {
    const scenario = await import(`./scenarios/${name}.mjs`);
    await bounded(scenario.default(world));
    await world.close();
    console.log(`${name}: well, ${((performance.now() - begun) / 1000).toFixed(1)} s`);
  } catch (err) {
    failures.push(name);
    console.error(`${name}: FAILED\n`, err);
    await world.failed();
    await world.close().catch((e) => console.error(e.message));
  }
}

const queue = [...wanted];
await Promise.all(
  Array.from({ length: atOnce }, async () => {
    for (let name = queue.shift(); name; name = queue.shift()) await run(name);
  }),
);
await browser.close();
await server.remove();
if (failures.length > 0) {
  console.error(`failed: ${failures.join(", ")}; what their pages showed is in artefacts/failed-*.png`);
  process.exit(1);
}
console.log("browsers: all well; screenshots in artefacts/");
