// What the scenarios share: servers, people with browsers of their own, calls of the API, and pictures of what one sees.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { accessible } from "./axe.mjs";

export const binary = process.env.TEST_BINARY ?? fileURLToPath(new URL("../../bin/rialto", import.meta.url));
export const shots = fileURLToPath(new URL("../../artefacts/", import.meta.url));
/** The extension that the documents have as an example. It shows polls. */
export const extension = fileURLToPath(new URL("../../docs/examples/web-extension", import.meta.url));
export const desktop = { width: 1180, height: 760 };
export const phone = { width: 390, height: 780 };
export const password = "a good password";
/** How long one step may take, on a busy machine. */
const mostStepMs = 120_000;

/** A server with a data directory of its own. It can be killed, and started again on the same address. */
export class Server {
  dir = mkdtempSync(join(tmpdir(), "rialto-e2e-"));

  static async start(...flags) {
    const s = new Server();
    s.port = await freePort();
    s.flags = flags.map((f) => f.replace("PORT", s.port));
    s.url = `http://127.0.0.1:${s.port}`;
    await s.run();
    return s;
  }

  async run() {
    const child = spawn(binary, ["serve", "--data", this.dir, "--listen", `127.0.0.1:${this.port}`, "--set", "video.niceness=1", ...this.flags], { stdio: ["ignore", "ignore", "inherit"] });
    this.child = child;
    const ended = new Promise((_, reject) => child.once("exit", (code) => reject(new Error(`the server ended with ${code}`))));
    ended.catch(() => {});
    await Promise.race([this.ready(), ended]);
  }

  async ready() {
    for (;;) {
      const answer = await fetch(`${this.url}/healthz`).catch(() => undefined);
      if (answer?.ok) return;
      await new Promise((resolve) => setTimeout(resolve, 50)); // between one question and the next
    }
  }

  async kill() {
    const { child } = this;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const done = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGKILL");
    await done;
  }

  /** A key with which one's own server makes users, and calls in their name. */
  apiKey() {
    return execFileSync(binary, ["admin", "key", "create", "--data", this.dir, "--name", "e2e"], { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] }).trim();
  }

  async remove() {
    await this.kill();
    rmSync(this.dir, { recursive: true, force: true });
  }
}

function freePort() {
  return new Promise((resolve) => {
    const s = createServer().listen(0, "127.0.0.1", () => {
      const { port } = s.address();
      s.close(() => resolve(port));
    });
  });
}

/** Calls the API as any program would: JSON over HTTP. It repeats what is refused for a time, as by a server that lacks CPU time. */
export async function call(url, method, body, token, user) {
  for (;;) {
    const res = await fetch(`${url}/rialto.${method}`, {
      method: "POST",
      headers: { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}), ...(user ? { "Rialto-User": user } : {}) },
      body: JSON.stringify(body),
    });
    const answer = await res.json();
    if (res.ok) return answer;
    const wait = res.status === 503 ? Number(res.headers.get("Retry-After")) : 0;
    if (!wait) throw new Error(`${method}: ${JSON.stringify(answer)}`);
    await new Promise((resolve) => setTimeout(resolve, wait * 1000)); // as the server asks
  }
}

/** One scenario's place in the world: its users' handles end with its name, so that scenarios do not meet. */
export class World {
  contexts = [];
  faults = [];
  servers = [];

  constructor(name, browser, url) {
    this.name = name;
    this.browser = browser;
    this.url = url;
  }

  step(text) {
    console.log(`  ${this.name}: ${text}`);
  }

  /** A server of this scenario alone, which it may kill. */
  async ownServer(...flags) {
    const s = await Server.start(...flags);
    this.servers.push(s);
    this.url = s.url;
    return s;
  }

  call(method, body, token) {
    return call(this.url, method, body, token);
  }

  handle(name) {
    return `${name}_${this.name}`;
  }

  /** A browser of its own, with one page that shows the app. */
  async page(options = {}) {
    const context = await this.browser.newContext({ viewport: desktop, locale: "en-GB", colorScheme: "light", ...options });
    context.setDefaultTimeout(mostStepMs);
    this.contexts.push(context);
    return this.window(context);
  }

  /** One more window of a browser. */
  async window(context) {
    const page = await context.newPage();
    page.on("pageerror", (err) => this.faults.push(`page error: ${err.message}`));
    page.on("console", (m) => m.type() === "error" && !/Failed to load resource|WebSocket/.test(m.text()) && console.error(`[${this.name}]`, m.text()));
    await page.goto(this.url);
    return page;
  }

  /** Somebody without a browser. */
  async user(handle, displayName) {
    const s = await this.call("account.v1.AccountService/Register", { handle: this.handle(handle), password, displayName });
    return { id: s.user, token: s.accessToken, handle: this.handle(handle), name: displayName };
  }

  /** Somebody who signs up in a browser of their own. */
  async person(handle, displayName, options) {
    const page = await this.page(options);
    await signUp(page, this.handle(handle), displayName);
    return { page, handle: this.handle(handle), name: displayName, ...(await login(page)) };
  }

  /** Signs somebody who exists in, in one more browser. */
  async device(user, options) {
    const page = await this.page(options);
    await signIn(page, user.handle);
    return page;
  }

  async befriend(a, b) {
    await this.call("account.v1.GraphService/RequestFriend", { user: b.id }, a.token);
    await this.call("account.v1.GraphService/AnswerFriend", { user: a.id, accept: true }, b.token);
  }

  /** Sends texts to a conversation, in order. */
  async send(user, conversation, texts) {
    for (const text of texts) {
      user.sent = (user.sent ?? 1_000_000) + 1; // above what the user's browser counts
      await this.call("chat.v1.ChatService/Send", { conversation, clientSeq: user.sent, content: { text } }, user.token);
    }
  }

  async direct(from, to) {
    return (await this.call("chat.v1.ChatService/OpenDirect", { user: to.id }, from.token)).id;
  }

  /** A picture of what one sees. What is in the way of a screen reader or of weak eyes is an error. */
  async shot(page, name) {
    await accessible(page, name);
    await page.screenshot({ path: join(shots, `${name}.png`) });
  }

  async failed() {
    let n = 0;
    for (const c of this.contexts) for (const p of c.pages()) await p.screenshot({ path: join(shots, `failed-${this.name}-${n++}.png`) }).catch(() => {});
  }

  async close() {
    await Promise.allSettled(this.contexts.map((c) => c.close()));
    await Promise.allSettled(this.servers.map((s) => s.remove()));
    assert.deepEqual(this.faults, []);
  }
}

export async function signUp(page, handle, name) {
  await page.getByRole("button", { name: /Create an account|没有账号/ }).click();
  await page.locator("input[name=handle]").fill(handle);
  await page.locator("input[name=name]").fill(name);
  await page.locator("input[name=password]").fill(password);
  await page.keyboard.press("Enter");
  await page.getByTestId("tab-chats").waitFor();
}

export async function signIn(page, handle, secret = password) {
  await page.locator("input[name=handle]").fill(handle);
  await page.locator("input[name=password]").fill(secret);
  await page.keyboard.press("Enter");
}

/** The session that a page has, for calls in its user's name. */
function login(page) {
  return page.evaluate(
    () =>
      new Promise((resolve, reject) => {
        const open = indexedDB.open("rialto");
        open.onerror = () => reject(open.error);
        open.onsuccess = () => {
          const read = open.result.transaction("meta").objectStore("meta").get("login");
          read.onerror = () => reject(read.error);
          read.onsuccess = () => {
            open.result.close();
            resolve({ id: read.result.user, token: read.result.accessToken });
          };
        };
      }),
  );
}

// --- what one finds in a page ---

export const log = (page) => page.getByTestId("messages");
export const message = (page, text) => page.getByTestId("message").filter({ hasText: text });
export const row = (page, title) => page.getByTestId("conversation").filter({ hasText: title });
export const dialog = (page) => page.getByRole("dialog").or(page.getByRole("alertdialog"));
export const panel = (page) => page.getByRole("complementary", { name: "About this chat" });
export const person = (page, name) => page.getByTestId("person").filter({ hasText: name });
export const member = (page, name) => panel(page).locator("li").filter({ hasText: name });

/** The texts of a chat, in order. */
export const texts = (page) => page.locator('[data-testid="message"] .text').allInnerTexts();

export async function say(page, text) {
  await page.getByTestId("composer").fill(text);
  await page.keyboard.press("Enter");
}

/** Chooses a file, and sends it with a caption. */
export async function sendFile(page, file, caption = "") {
  await page.getByTestId("file").setInputFiles(file);
  await dialog(page).getByLabel("Caption").fill(caption);
  await dialog(page).getByRole("button", { name: "Send", exact: true }).click();
  await dialog(page).waitFor({ state: "hidden" });
}

/** Answers a question that a dialog asks. */
export async function confirm(page, label) {
  await dialog(page).getByRole("button", { name: label, exact: true }).click();
  await dialog(page).waitFor({ state: "hidden" });
}

/** Chooses from the menu of a row. */
export async function choose(page, place, label) {
  await place.getByRole("button", { name: "Options" }).click();
  const item = { name: label, exact: true };
  await page.getByRole("menuitem", item).or(place.getByRole("button", item)).click();
}

export async function openPanel(page) {
  await page.getByRole("button", { name: "About this chat" }).click();
  await panel(page).waitFor();
}

/** Shows one of the panel's tabs: the members of a group, or what its admins manage. */
export async function showTab(page, name) {
  await panel(page).getByRole("tab", { name }).click();
}

/** Waits until a message is wholly in view. */
export function inView(page, text) {
  return page.waitForFunction((wanted) => {
    const box = document.querySelector('[data-testid="messages"]')?.getBoundingClientRect();
    const p = [...document.querySelectorAll('[data-testid="message"] .text')].find((e) => e.textContent === wanted)?.getBoundingClientRect();
    return box && p && p.top >= box.top && p.bottom <= box.bottom;
  }, text);
}

/** Waits until an element has kept its place for 20 frames. A list that has been scrolled measures its rows, and a row that moves between press and release of the mouse is not clicked. */
export async function atRest(locator) {
  await locator.evaluate((e) => new Promise((done) => {
    let top, frames = 0;
    const look = () => {
      const now = e.getBoundingClientRect().top;
      frames = now === top && getComputedStyle(e).pointerEvents !== "none" ? frames + 1 : 0;
      top = now;
      if (frames === 20) done();
      else requestAnimationFrame(look);
    };
    look();
  }));
}

/** A small PNG, drawn in the browser. */
export async function picture(page) {
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
