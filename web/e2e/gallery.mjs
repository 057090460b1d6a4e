// Takes a picture of each place of the app, on a phone and a desktop, in both languages, light and dark, and puts those of one place on one
// sheet: `node e2e/gallery.mjs FOLDER [PLACE ...]`, after `make build`. With places, only these are kept. Somebody looks at them:
// what a program can tell of accessibility is checked as well, and listed.
import { mkdirSync } from "node:fs";
import { join, resolve } from "node:path";
import { chromium } from "playwright-core";
import { browserPath } from "./browser.mjs";
import { runnerImport } from "vite";
import { accessible } from "./axe.mjs";
import { seedCompany } from "./gallery/company.mjs";
import { content } from "./gallery/content.mjs";
import { empty, inside, outside } from "./gallery/places.mjs";
import { seed, seedFiles, seedPosts } from "./gallery/seed.mjs";
import { sheets } from "./gallery/sheets.mjs";
import { signIn, World } from "./harness.mjs";

const [folder, ...only] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node e2e/gallery.mjs FOLDER [PLACE ...]");
  process.exit(1);
}
const all = Object.keys({ ...outside, ...empty, ...inside });
const unknown = only.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  console.error(`there is no place ${unknown.join(", ")}; there are ${all.join(", ")}`);
  process.exit(1);
}
const target = resolve(folder);
mkdirSync(target, { recursive: true });

const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };
const texts = Object.fromEntries(await Promise.all(["en", "zh"].map(async (l) => [l, (await runnerImport(`./src/text/${l}.ts`)).module[l]])));
const atOnce = 2;
const longestMs = 10_000;
/** Codes are offered where a server has somebody to send them; here nobody does. */
const withCodes = ["--set", "account.code_webhook.url=http://127.0.0.1:9/", "--set", `account.code_webhook.secret=${"s".repeat(32)}`];
let faults = 0;

function fault(text) {
  faults++;
  console.error(text);
}

/** One gallery: a size, a language and a theme. */
async function take(w, size, lang, theme) {
  const server = await w.ownServer(...withCodes); // help desks are those of a server
  const c = content[lang];
  const look = { viewport: sizes[size], locale: c.locale, colorScheme: theme, ...(size === "phone" && { hasTouch: true, isMobile: true }) };
  const g = { w, c, t: texts[lang], phone: size === "phone", page: await w.page(look) };
  const show = async (places) => {
    g.page.setDefaultTimeout(longestMs);
    for (const [name, go] of Object.entries(places)) {
      await go(g).catch((err) => fault(`${name}, ${w.name}: ${err.message}`));
      if (only.length > 0 && !only.includes(name)) continue;
      const file = `${name}.${size}-${lang}-${theme}.png`;
      await g.page.evaluate(() => Promise.all([...document.images].map((i) => i.decode().catch(() => {}))));
      await accessible(g.page, file).catch((err) => fault(err.message));
      await g.page.screenshot({ path: join(target, file) });
    }
  };
  await show(outside);
  const fresh = await w.user("new", c.me);
  g.page = await w.device(fresh, look);
  await show(empty);
  Object.assign(g, await seed(w, c));
  Object.assign(g, await seedCompany(w, server.apiKey(), c.company, g));
  await seedFiles(w, c, g, g.page);
  Object.assign(g, await seedPosts(w, c, g, g.page));
  g.bob = await w.device(g.friends[0]);
  await g.bob.getByTestId("tab-chats").waitFor();
  await g.bob.goto(`${w.url}/c/${g.direct}`);
  g.page = await w.page(look);
  g.disconnect = await cut(g.page);
  await g.page.reload();
  await signIn(g.page, g.me.handle);
  await show(inside);
}

/** What cuts a page's connections, and keeps them cut. It must be asked for before the page connects. */
async function cut(page) {
  const sockets = [];
  let off = false;
  await page.routeWebSocket(/.*/, (ws) => {
    if (off) return ws.close();
    ws.connectToServer();
    sockets.push(ws);
  });
  return async () => {
    off = true;
    await page.route("**/rialto.*/**", (route) => route.abort());
    for (const ws of sockets) await ws.close();
  };
}

const browser = await chromium.launch({ executablePath: browserPath, args: ["--no-sandbox", "--disable-gpu", "--force-color-profile=srgb"] });
const queue = Object.keys(sizes).flatMap((size) => Object.keys(content).flatMap((lang) => ["light", "dark"].map((theme) => [size, lang, theme])));

async function next() {
  for (let [size, lang, theme] = queue.shift() ?? []; size; [size, lang, theme] = queue.shift() ?? []) {
    const w = new World(`${size}_${lang}_${theme}`, browser);
    try {
      await take(w, size, lang, theme);
      console.log(`${size}, ${lang}, ${theme}`);
    } catch (err) {
      fault(`${size}, ${lang}, ${theme}: ${err.stack}`);
    }
    await w.close().catch((err) => fault(err.message));
  }
}

await Promise.all(Array.from({ length: atOnce }, next));
await sheets(browser, target, only.length > 0 ? only : all);
await browser.close();
console.log(`${target}: look at sheet-*.png`);
process.exit(faults > 0 ? 1 : 0);
