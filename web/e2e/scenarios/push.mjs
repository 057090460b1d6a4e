// Push notifications: switched on in the settings, sent by the server to the browser's push service while the app is closed. The browser has no
// Internet: its subscription leads to a server of the test. What the worker shows is not tested: the headless browser stops it without a page.
import assert from "node:assert/strict";
import { createServer } from "node:http";

export default async function push(w) {
  const got = [];
  const service = createServer((req, res) => {
    got.push({ path: req.url, headers: req.headers });
    req.resume().on("end", () => res.writeHead(201).end());
  });
  await new Promise((resolve) => service.listen(0, "127.0.0.1", resolve));
  const address = `127.0.0.1:${service.address().port}`;
  try {
    await w.ownServer("--set", `push.internal_hosts=${address}`, "--set", "presence.grace=1s");
    await run(w, `http://${address}/push/bob`, got);
  } finally {
    service.close();
    service.closeAllConnections();
  }
}

async function run(w, endpoint, got) {
  const alice = await w.user("alice", "Alice");
  const bob = await w.person("bob", "Bob");
  const page = bob.page;
  const context = page.context();
  await context.grantPermissions(["notifications"], { origin: w.url });
  await context.addInitScript(subscribesTo, endpoint);
  const chat = await w.direct(alice, bob);

  w.step("the app can be installed, and its worker keeps the page");
  const manifest = await (await fetch(`${w.url}/manifest.webmanifest`)).json();
  for (const icon of manifest.icons) assert.equal((await fetch(w.url + icon.src)).status, 200);
  await page.evaluate(() => navigator.serviceWorker.ready.then(() => undefined));
  const [worker] = context.serviceWorkers();
  const kept = await worker.evaluate(async () => (await (await caches.open("rialto-app")).keys()).map((r) => new URL(r.url).pathname));
  assert.ok(kept.includes("/") && kept.includes("/manifest.webmanifest") && !kept.some((path) => path.startsWith("/rialto.") || path.startsWith("/v1/")), kept.join(" "));

  w.step("switched on in the settings");
  await page.goto(`${w.url}/settings/notifications`);
  await page.getByRole("checkbox", { name: "Show notifications on this device" }).check();
  await page.getByRole("checkbox", { name: "Also while the app is closed" }).click();
  await page.getByRole("checkbox", { name: "Also while the app is closed" }).and(page.locator(":checked")).waitFor();
  const { subscriptions } = await w.call("push.v1.PushService/ListPushSubscriptions", {}, bob.token);
  assert.deepEqual(subscriptions.map((s) => s.provider), ["PUSH_PROVIDER_WEB_PUSH"]);
  await w.shot(page, "push-settings");

  w.step("nothing is pushed while the app is open, and the message is once it is closed");
  await page.goto("about:blank");
  await w.send(alice, chat, ["wake up"]);
  while (got.length === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(got[0].path, "/push/bob");
  assert.equal(got[0].headers["content-encoding"], "aes128gcm");
}

/** Stands for the browser's subscriptions, which need its push service on the Internet. */
function subscribesTo(endpoint) {
  let subscription = null;
  const subscribe = async ({ applicationServerKey, userVisibleOnly }) => {
    if (!userVisibleOnly) throw new Error("not visible");
    const keys = await crypto.subtle.generateKey({ name: "ECDH", namedCurve: "P-256" }, true, ["deriveBits"]);
    const parts = { p256dh: await crypto.subtle.exportKey("raw", keys.publicKey), auth: crypto.getRandomValues(new Uint8Array(16)).buffer };
    subscription = { endpoint, options: { applicationServerKey: new Uint8Array(applicationServerKey).buffer }, getKey: (name) => parts[name], unsubscribe: async () => !!(subscription = null) || true };
    return subscription;
  };
  Object.assign(PushManager.prototype, { subscribe, getSubscription: async () => subscription });
}
