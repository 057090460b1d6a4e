// Two browsers chat through a real server: signing up, friends, both scripts and emoji, a picture, a group, read marks, a
// reload, and a server that is killed while a message is under way. Screenshots are kept in artefacts/.
//
// TEST_BINARY names the server's binary, CHROMIUM the browser (/usr/bin/chromium).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";
import { accessible } from "./axe.mjs";
import { byKeyboard, count, groupLife, jumpToNew, readAll, signOutAndIn, writeMuch } from "./more.mjs";

const binary = process.env.TEST_BINARY ?? fileURLToPath(new URL("../../bin/rialto", import.meta.url));
const browserPath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const shots = fileURLToPath(new URL("../../artefacts/", import.meta.url));
for (const [what, path] of [["the server's binary (make build)", binary], ["chromium (apt install chromium)", browserPath]]) {
  if (!existsSync(path)) {
    console.error(`missing: ${what} at ${path}`);
    process.exit(1);
  }
}
mkdirSync(shots, { recursive: true });

const dir = mkdtempSync(join(tmpdir(), "rialto-e2e-"));
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
let server;

function freePort() {
  return new Promise((resolve) => {
    const s = createServer().listen(0, "127.0.0.1", () => {
      const { port } = s.address();
      s.close(() => resolve(port));
    });
  });
}

async function startServer() {
  server = spawn(binary, ["serve", "--data", dir, "--listen", `127.0.0.1:${port}`], { stdio: ["ignore", "ignore", "inherit"] });
  const ended = new Promise((_, reject) => server.once("exit", (code) => reject(new Error(`the server ended with ${code}`))));
  await Promise.race([ready(), ended]);
}

async function ready() {
  for (;;) {
    const answer = await fetch(`${url}/healthz`).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50)); // between one question and the next
  }
}

function killServer() {
  if (!server || server.exitCode !== null || server.signalCode !== null) return undefined;
  server.removeAllListeners("exit");
  const done = new Promise((resolve) => server.once("exit", resolve));
  server.kill("SIGKILL");
  return done;
}

const step = (text) => console.log(`  ${text}`);

async function signUp(context, handle, name) {
  const page = await context.newPage();
  page.on("pageerror", (err) => console.error(`[${handle}] page error:`, err.message));
  page.on("console", (m) => m.type() === "error" && !/Failed to load resource|WebSocket/.test(m.text()) && console.error(`[${handle}]`, m.text()));
  await page.goto(url);
  await page.getByRole("button", { name: /Create an account|没有账号/ }).click();
  await page.locator("input[name=handle]").fill(handle);
  await page.locator("input[name=name]").fill(name);
  await page.locator("input[name=password]").fill("a good password");
  await page.keyboard.press("Enter");
  await page.getByTestId("tab-chats").waitFor();
  return page;
}

const messages = (page) => page.getByTestId("message");
const lastMessage = (page, text) => messages(page).filter({ hasText: text });

async function say(page, text) {
  await page.getByTestId("composer").fill(text);
  await page.keyboard.press("Enter");
}

/** A picture of what one sees; what stands in the way of a screen reader or of weak eyes is an error. */
async function shot(page, name) {
  await accessible(page, name);
  await page.screenshot({ path: join(shots, `${name}.png`) });
}

/** The texts of a chat, in order. */
const texts = (page) => page.locator('[data-testid="message"] .text').allInnerTexts();

async function run(browser) {
  await startServer();
  const options = { viewport: { width: 1180, height: 760 }, locale: "en-GB" };
  const a = await browser.newContext({ ...options, colorScheme: "light" });
  const b = await browser.newContext({ ...options, colorScheme: "dark" });
  const signIn = await a.newPage();
  await signIn.goto(url);
  await signIn.getByRole("button", { name: "Sign in" }).waitFor();
  await shot(signIn, "01-sign-in");
  await signIn.close();

  step("sign up, find each other, become friends");
  const alice = await signUp(a, "alice", "Alice 爱丽丝");
  const bob = await signUp(b, "bob", "Bob");
  await alice.getByTestId("tab-people").click();
  await alice.getByRole("searchbox").fill("bob");
  await alice.getByRole("button", { name: "Add friend" }).click();
  await bob.getByTestId("tab-people").click();
  await bob.getByRole("button", { name: "Accept" }).click();
  await alice.getByTestId("person").filter({ hasText: "Bob" }).first().waitFor();
  await shot(bob, "02-people-dark");

  step("chat both ways, with read marks");
  await alice.getByRole("button", { name: "Message" }).first().click();
  await say(alice, "Hello Bob! 你好，周末一起吃饭吗？🍜");
  await bob.getByTestId("tab-chats").click();
  await bob.getByTestId("unread").filter({ hasText: "1" }).waitFor();
  await bob.getByTestId("conversation").click();
  await lastMessage(bob, "周末一起吃饭吗").waitFor();
  await bob.getByTestId("composer").pressSequentially("Yes!");
  await alice.locator(".chat-title").filter({ hasText: "Bob is typing" }).waitFor();
  await say(bob, "Yes! Где встречаемся? 👋🏽 https://example.com/карта");
  await lastMessage(alice, "Где встречаемся").waitFor();
  await bob.locator('.text a[href^="https://example.com/"]').waitFor();
  await alice.getByTestId("announcer").filter({ hasText: "Где встречаемся" }).waitFor({ state: "attached" });
  await alice.locator(".state.read").first().waitFor();
  await alice.locator(".dot.on").first().waitFor();

  step("a picture");
  await alice.getByTestId("file").setInputFiles({ name: "sunset.png", mimeType: "image/png", buffer: await picture(alice) });
  await bob.getByTestId("image").waitFor();
  await bob.waitForFunction(() => document.querySelector('[data-testid="image"]').naturalWidth > 0);
  await shot(alice, "03-chat-light");
  await shot(bob, "04-chat-dark");

  step("offline: the server is killed, what is written waits, and arrives once");
  await killServer();
  await alice.locator(".banner.offline").waitFor();
  await say(alice, "written while the server was dead");
  await say(alice, "and another one");
  await alice.getByTestId("outgoing").nth(1).waitFor();
  await alice.getByTestId("file").setInputFiles({ name: "notes 笔记.txt", mimeType: "text/plain", buffer: Buffer.from("kept until the network is back") });
  await alice.getByTestId("uploads").filter({ hasText: "waits for the connection" }).waitFor();
  await shot(alice, "05-offline");
  await bob.getByTestId("composer").fill("a half-written answer");
  await bob.locator(".banner.offline").waitFor();
  await bob.reload(); // the app and what the device has open without a network, at the chat where one was
  await lastMessage(bob, "Где встречаемся").waitFor();
  assert.equal(await bob.getByTestId("composer").inputValue(), "a half-written answer");
  await shot(bob, "10-offline-reloaded");
  await startServer();
  await lastMessage(bob, "and another one").waitFor();
  await alice.getByTestId("outgoing").first().waitFor({ state: "detached" });
  await bob.getByRole("button", { name: "Download notes 笔记.txt" }).waitFor();
  assert.equal(await bob.getByTestId("composer").inputValue(), "a half-written answer");

  step("a reload shows the same, in the same order");
  const before = await texts(bob);
  await bob.reload();
  await lastMessage(bob, "and another one").waitFor();
  await bob.waitForFunction((n) => document.querySelectorAll('[data-testid="message"] .text').length === n, before.length);
  assert.deepEqual(await texts(bob), before);
  assert.deepEqual(await texts(alice), before);
  assert.equal(before.filter((x) => x === "and another one").length, 1);

  step("a group, pinned, in Chinese and on a narrow screen");
  await alice.getByRole("button", { name: "New group" }).click();
  await alice.locator("dialog input").first().fill("周末爬山");
  await alice.locator("dialog").getByRole("checkbox").first().check();
  await alice.locator("dialog").getByRole("button", { name: "Create" }).click();
  await alice.getByRole("main", { name: "周末爬山" }).waitFor();
  await say(alice, "带上水和防晒霜 ☀️");
  await bob.getByTestId("conversation").filter({ hasText: "周末爬山" }).click();
  await lastMessage(bob, "防晒霜").waitFor();
  await bob.getByRole("button", { name: "About this chat" }).click();
  await bob.getByRole("button", { name: "Pin", exact: true }).click();
  await bob.getByRole("button", { name: "Unpin" }).waitFor();
  await shot(bob, "06-group-info");
  await alice.getByTestId("tab-settings").click();
  await alice.getByTestId("language").selectOption("zh");
  await shot(alice, "07-settings-zh");
  await alice.getByTestId("tab-chats").click();
  await alice.setViewportSize({ width: 390, height: 780 });
  await shot(alice, "08-phone-chat");
  await alice.getByRole("button", { name: "返回" }).click();
  await shot(alice, "09-phone-list");
  await alice.setViewportSize(options.viewport);
  await alice.getByTestId("tab-settings").click();
  await alice.getByTestId("language").selectOption("en");
  await alice.locator(".settings input[type=file]").setInputFiles({ name: "me.png", mimeType: "image/png", buffer: await picture(alice) });
  await alice.locator(".rail .avatar img").waitFor();
  await alice.getByTestId("tab-chats").click();

  step("a long history, from its end to its beginning");
  const me = await alice.locator(".rail .avatar").getAttribute("data-user");
  await writeMuch(url, "carol", "Carol", me, count);
  await readAll(alice, "Carol");
  await shot(alice, "12-long-history");
  await writeMuch(url, "dave", "Dave", me, 60);
  await jumpToNew(alice, "Dave", 60);
  await alice.getByTestId("conversation").filter({ hasText: "Carol" }).click();

  step("by keyboard alone");
  const c = await browser.newContext(options);
  const carol = await c.newPage();
  await byKeyboard(carol, url, "carol", "typed by hand");
  await lastMessage(alice, "typed by hand").waitFor();

  step("the life of a group");
  await groupLife({ alice, bob, carol, shot });

  step("signing out, and in again");
  await signOutAndIn(bob, "bob", "Alice", before);
}

/** A small PNG, drawn in the browser. */
async function picture(page) {
  const data = await page.evaluate(() => {
    const c = document.createElement("canvas");
    c.width = 480;
    c.height = 300;
    const g = c.getContext("2d");
    const sky = g.createLinearGradient(0, 0, 0, 300);
    sky.addColorStop(0, "#f97316");
    sky.addColorStop(1, "#7c3aed");
    g.fillStyle = sky;
    g.fillRect(0, 0, 480, 300);
    g.fillStyle = "#fde68a";
    g.beginPath();
    g.arc(240, 190, 46, 0, 7);
    g.fill();
    return c.toDataURL("image/png");
  });
  return Buffer.from(data.split(",")[1], "base64");
}

const browser = await chromium.launch({
  executablePath: browserPath,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
let failed;
try {
  await run(browser);
  console.log("browsers: all well; screenshots in artefacts/");
} catch (err) {
  failed = err;
  for (const [i, c] of browser.contexts().entries()) {
    for (const p of c.pages()) await p.screenshot({ path: join(shots, `failed-${i}.png`) }).catch(() => {});
  }
}
await browser.close();
await killServer();
rmSync(dir, { recursive: true, force: true });
if (failed) throw failed;
