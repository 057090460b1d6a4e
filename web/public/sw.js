// Keeps the app's page and its files, so that the app opens without a network and shows what the device has. The page comes
// from the network where there is one: a new version shows at the next load. Answers of the API are never kept. It also shows push notifications.
const name = "rialto-app";
const shell = ["/icon.svg", "/icon-192.png", "/manifest.webmanifest"];

self.addEventListener("install", (e) => e.waitUntil(first()));
self.addEventListener("activate", (e) => e.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (e) => {
  const { request } = e;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  if (request.mode === "navigate" && !url.pathname.startsWith("/v1/")) e.respondWith(page(request));
  else if (url.pathname.startsWith("/assets/") || url.pathname.startsWith("/extensions/") || shell.includes(url.pathname)) e.respondWith(file(request));
});

self.addEventListener("push", (e) => e.waitUntil(pushed(e.data)));
self.addEventListener("notificationclick", (e) => {
  e.notification.close();
  e.waitUntil(open(e.notification.data?.path ?? "/"));
});

/** Shows what the server pushes, unless the user looks at the app, which shows it. A newer notification of a chat replaces the one before. */
async function pushed(data) {
  let n = {};
  try {
    n = data?.json() ?? n;
  } catch {
    // A hint is left: something came.
  }
  if (typeof n.badge === "number") await navigator.setAppBadge?.(n.badge).catch(() => {});
  const windows = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (windows.some((w) => w.visibilityState === "visible" && w.focused)) return;
  const [title, body] = n.title ? [n.title, n.body] : ["Rialto", navigator.language.startsWith("zh") ? "新消息" : "New message"];
  const [chat, seq] = n.parent ? [n.parent, n.root] : [n.conversation, n.seq]; // a thread opens at the message that it is under
  const path = [chat, seq].every((number) => /^\d+$/.test(number)) ? `/c/${chat}/m/${seq}` : "/";
  await self.registration.showNotification(title, { body, tag: `rialto-${n.user}-${n.conversation}`, icon: "/icon.svg", badge: "/icon-192.png", data: { path } });
}

/** Opens a place of the app: in a window that is there, or in a new one. */
async function open(path) {
  const [there] = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
  if (!there) return void (await self.clients.openWindow(path));
  there.postMessage({ open: path });
  await there.focus().catch(() => {}); // it shows the place all the same
}

/** The page that installs this came before it, so it is fetched once more. */
async function first() {
  const fresh = await fetch("/");
  if (fresh.ok) await keep(await caches.open(name), fresh);
  await self.skipWaiting();
}

async function page(request) {
  const cache = await caches.open(name);
  try {
    const fresh = await fetch(request);
    if (fresh.ok && (fresh.headers.get("Content-Type") ?? "").startsWith("text/html")) await keep(cache, fresh.clone());
    return fresh;
  } catch (err) {
    const kept = await cache.match("/");
    if (kept) return kept;
    throw err;
  }
}

/** Keeps the page together with all that it names, also what its routes load later and the operator's extensions, and lets go of what it no longer names. */
async function keep(cache, fresh) {
  const text = await fresh.clone().text();
  const named = [...text.matchAll(/<meta name="(?:later|extensions)" content="([^"]*)"|(?:src|href)="(\/[^"]+)"/g)].flatMap((m) => m[2] ?? m[1].split(" ").filter(Boolean));
  await Promise.all(named.map(async (path) => (await cache.match(path)) ?? cache.add(path)));
  await cache.put("/", fresh);
  for (const r of await cache.keys()) {
    const { pathname } = new URL(r.url);
    if (pathname !== "/" && !named.includes(pathname)) await cache.delete(r);
  }
}

async function file(request) {
  const cache = await caches.open(name);
  return (await cache.match(request)) ?? fetch(request);
}
