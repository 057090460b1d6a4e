// Push notifications: switched on in the settings, sent by the server to the browser's push service while the app is closed, and shown by the
// service worker. The browser has no Internet: its subscription leads to a server of the test, which hands what it got to the worker.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { createServer } from "node:http";
import { chromium } from "playwright-core";
import { wholeBrowserPath } from "../browser.mjs";
import { message, phone } from "../harness.mjs";
import { decrypt, subscriptionKeys } from "../webpush.mjs";

export default async function push(w) {
  assert.ok(existsSync(wholeBrowserPath), `notifications need a whole browser at ${wholeBrowserPath}: apt install chromium, or set WHOLE_CHROMIUM`);
  const got = [];
  const service = createServer(async (req, res) => {
    const parts = [];
    for await (const part of req) parts.push(part);
    res.writeHead(201).end();
    got.push({ path: req.url, headers: req.headers, body: Buffer.concat(parts) });
  });
  await new Promise((resolve) => service.listen(0, "127.0.0.1", resolve));
  const address = `127.0.0.1:${service.address().port}`;
  w.browser = await chromium.launch({ executablePath: wholeBrowserPath, args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"] });
  try {
    await w.ownServer("--set", `push.internal_hosts=${address}`, "--set", "presence.grace=1s");
    await run(w, `http://${address}/push/bob`, got);
  } catch (err) {
    await w.failed(); // while there is a browser
    throw err;
  } finally {
    await w.browser.close();
    service.close();
    service.closeAllConnections();
  }
}

async function run(w, endpoint, got) {
  const alice = await w.user("alice", "Alice");
  const bob = await w.person("bob", "Bob");
  const page = bob.page;
  const context = page.context();
  const keys = subscriptionKeys();
  await context.grantPermissions(["notifications"], { origin: w.url });
  await context.addInitScript(subscribesTo, { endpoint, p256dh: [...keys.p256dh], auth: [...keys.auth] });
  const chat = await w.direct(alice, bob);

  w.step("the app can be installed, and its worker keeps the page");
  const manifest = await (await fetch(`${w.url}/manifest.webmanifest`)).json();
  for (const icon of manifest.icons) assert.equal((await fetch(w.url + icon.src)).status, 200);
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  const kept = await inWorker(context, async () => (await (await caches.open("rialto-app")).keys()).map((r) => new URL(r.url).pathname));
  assert.ok(kept.includes("/") && kept.includes("/manifest.webmanifest") && !kept.some((path) => path.startsWith("/rialto.") || path.startsWith("/v1/")), kept.join(" "));

  w.step("switched on in the settings");
  await page.goto(`${w.url}/settings/notifications`);
  await page.getByRole("checkbox", { name: "Show notifications on this device" }).check();
  await page.getByRole("checkbox", { name: "Also while the app is closed" }).click();
  await page.getByRole("checkbox", { name: "Also while the app is closed" }).and(page.locator(":checked")).waitFor();
  const { subscriptions } = await w.call("push.v1.PushService/ListPushSubscriptions", {}, bob.token);
  assert.deepEqual(subscriptions.map((s) => s.provider), ["PUSH_PROVIDER_WEB_PUSH"]);
  await page.getByRole("checkbox", { name: "Send who writes" }).click();
  await page.getByRole("checkbox", { name: "Send who writes" }).and(page.locator(":checked")).waitFor();
  await w.shot(page, "push-settings");
  await page.setViewportSize(phone);
  await w.shot(page, "push-settings-phone");

  w.step("quiet hours are those of the device's time zone, on all devices");
  const stored = async () => (await w.call("push.v1.PushService/GetPushSettings", {}, bob.token)).quietHours;
  const quiet = page.getByRole("group", { name: "Quiet hours" });
  const zone = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone);
  await quiet.getByRole("checkbox").click();
  await quiet.getByText(`Times are those of ${zone}.`).waitFor();
  assert.deepEqual(await stored(), { from: 1320, to: 420, timeZone: zone });
  await quiet.getByLabel("From").fill("23:15");
  await quiet.getByLabel("Until").fill("23:15");
  await quiet.getByText("Choose two different times.").waitFor();
  await quiet.getByLabel("Until").fill("06:30");
  while ((await stored()).to !== 390) await new Promise((resolve) => setTimeout(resolve, 50));
  await w.shot(page, "quiet-hours");
  const { showText } = await w.call("push.v1.PushService/GetPushSettings", {}, bob.token);
  assert.equal(showText, true); // the other settings stay
  await page.reload();
  await quiet.getByLabel("From").waitFor();
  assert.equal(await quiet.getByLabel("From").inputValue(), "23:15");
  assert.deepEqual(await stored(), { from: 1395, to: 390, timeZone: zone });
  await quiet.getByRole("checkbox").click();
  await quiet.getByText("Each day, for some hours").waitFor();
  assert.equal(await stored(), undefined);

  w.step("nothing is pushed while the app is open, and the message is once it is closed");
  await page.goto("about:blank");
  await w.send(alice, chat, ["wake up"]);
  while (got.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(got.length, 1);
  assert.equal(got[0].path, "/push/bob");
  assert.equal(got[0].headers["content-encoding"], "aes128gcm");
  const sent = JSON.parse(decrypt(got[0].body, keys));
  assert.deepEqual([sent.user, sent.conversation, sent.badge], [bob.id, chat, 1]);

  const deliver = await deliverer(context, page, w.url);
  const tag = `rialto-${bob.id}-${chat}`;
  const path = `/c/${chat}/m/${sent.seq}`;

  w.step("the worker shows what the server pushed");
  assert.deepEqual([sent.title, sent.body], ["Alice", "wake up"]);
  await deliver(JSON.stringify(sent));
  await shown(context, w.url, [{ title: "Alice", body: "wake up", tag, path }]);

  w.step("a newer one of the chat replaces it; one of a thread opens the message that it is under; one that cannot be read is a hint");
  await deliver(JSON.stringify({ ...sent, title: "Alice", body: "again" }));
  await shown(context, w.url, [{ title: "Alice", body: "again", tag, path }]);
  await deliver(JSON.stringify({ ...sent, conversation: "77", seq: "5", parent: chat, root: sent.seq, title: "Thread", body: "deeper" }));
  const thread = { title: "Thread", body: "deeper", tag: `rialto-${bob.id}-77`, path };
  await shown(context, w.url, [{ title: "Alice", body: "again", tag, path }, thread]);
  await deliver("not JSON");
  const hint = { title: "Rialto", body: "New message", tag: "rialto-undefined-undefined", path: "/" };
  await shown(context, w.url, [{ title: "Alice", body: "again", tag, path }, hint, thread]);

  w.step("a click opens the chat in a new window where there is none, and closes the notification");
  assert.equal(await click(context, "Alice"), path);
  await shown(context, w.url, [hint, thread]);

  w.step("a click opens the place in a window that is there");
  await page.goto(w.url);
  await page.getByTestId("tab-chats").waitFor();
  assert.equal(await click(context, "Thread"), null);
  await page.waitForURL(w.url + path);
  await message(page, "wake up").waitFor();
  await shown(context, w.url, [hint]);

  w.step("while the user looks at the app, nothing is shown");
  await page.bringToFront();
  await inWorker(context, () => {
    const all = self.clients.matchAll.bind(self.clients);
    self.looked = new Promise((resolve) => (self.clients.matchAll = async (o) => all(o).finally(resolve)));
  });
  await deliver(JSON.stringify({ ...sent, conversation: "78" }));
  await inWorker(context, () => self.looked);
  await page.goto("about:blank");
  await deliver(JSON.stringify({ ...sent, conversation: "79", title: "Last", body: "of all" }));
  await shown(context, w.url, [{ title: "Last", body: "of all", tag: `rialto-${bob.id}-79`, path: `/c/79/m/${sent.seq}` }, hint]);
}

/** Stands for the browser's subscriptions, which need its push service on the Internet. */
function subscribesTo({ endpoint, ...keys }) {
  let subscription = null;
  const subscribe = async ({ applicationServerKey, userVisibleOnly }) => {
    if (!userVisibleOnly) throw new Error("not visible");
    subscription = { endpoint, options: { applicationServerKey: new Uint8Array(applicationServerKey).buffer }, getKey: (name) => new Uint8Array(keys[name]).buffer, unsubscribe: async () => !!(subscription = null) || true };
    return subscription;
  };
  Object.assign(PushManager.prototype, { subscribe, getSubscription: async () => subscription });
}

/** Runs a function in the worker. The browser may have stopped it, and starts it again for the next event or page. */
async function inWorker(context, f, arg) {
  for (let tries = 1; ; tries++) {
    const worker = context.serviceWorkers().at(-1) ?? (await context.waitForEvent("serviceworker"));
    try {
      return await worker.evaluate(f, arg);
    } catch (err) {
      if (tries === 5 || !/closed|destroyed/.test(err.message)) throw err;
    }
  }
}

/** Brings the worker a push, as the browser's push service does. */
async function deliverer(context, page, origin) {
  const devtools = await context.newCDPSession(page);
  const registration = new Promise((resolve) =>
    devtools.on("ServiceWorker.workerRegistrationUpdated", (e) => e.registrations.filter((r) => r.scopeURL === `${origin}/` && !r.isDeleted).forEach(resolve)));
  await devtools.send("ServiceWorker.enable");
  const { registrationId } = await registration;
  return (data) => devtools.send("ServiceWorker.deliverPushMessage", { origin, registrationId, data });
}

/** Waits until exactly these notifications are shown, by title. */
async function shown(context, url, wanted) {
  const reader = await context.newPage(); // not the app, which would open a socket
  try {
    await reader.goto(`${url}/manifest.webmanifest`);
    let now;
    for (let tries = 0; tries < 200; tries++) {
      now = await reader.evaluate(async () => (await (await navigator.serviceWorker.getRegistration()).getNotifications()).map(({ title, body, tag, data }) => ({ title, body, tag, path: data.path })));
      now.sort((a, b) => a.title.localeCompare(b.title));
      if (JSON.stringify(now) === JSON.stringify(wanted)) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    assert.deepEqual(now, wanted);
  } finally {
    await reader.close();
  }
}

/** Clicks a notification. No program can do so in the browser, so the worker gets the event from itself, and may then open no window: this returns what it would open. */
function click(context, title) {
  return inWorker(context, async (wanted) => {
    let opened = null, work;
    self.clients.openWindow = async (path) => void (opened = path);
    const notification = (await self.registration.getNotifications()).find((n) => n.title === wanted);
    const event = new NotificationEvent("notificationclick", { notification });
    event.waitUntil = (p) => (work = p);
    self.dispatchEvent(event);
    await work;
    delete self.clients.openWindow;
    return opened;
  }, title);
}
