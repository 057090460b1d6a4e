// Keeps the app's page and its files, so that the app opens without a network and shows what the device has. The page comes
// from the network where there is one: a new version shows at the next load.
const name = "rialto-app";

self.addEventListener("install", (e) => e.waitUntil(first()));
self.addEventListener("activate", (e) => e.waitUntil(self.clients.claim()));

self.addEventListener("fetch", (e) => {
  const { request } = e;
  const url = new URL(request.url);
  if (request.method !== "GET" || url.origin !== location.origin) return;
  if (request.mode === "navigate" && !url.pathname.startsWith("/v1/")) e.respondWith(page(request));
  else if (url.pathname.startsWith("/assets/") || url.pathname === "/icon.svg") e.respondWith(file(request));
});

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

/** Keeps the page together with all that it names, also what its routes load later, and lets go of what it no longer names. */
async function keep(cache, fresh) {
  const text = await fresh.clone().text();
  const later = /<meta name="later" content="([^"]*)"/.exec(text)?.[1] ?? "";
  const named = [...[...text.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map((m) => m[1]), ...later.split(" ").filter(Boolean)];
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
