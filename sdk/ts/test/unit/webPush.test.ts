import { expect, test } from "vitest";
import { PushProvider } from "../../src/gen/rialto/push/v1/push_pb.js";
import type { Services } from "../../src/services.js";
import { hasWebPush, registerWebPush, unregisterWebPush, type BrowserSubscription, type PushSubscriptions } from "../../src/webPush.js";

const vapid = new Uint8Array([4, 1, 2]);

/** A browser that keeps one subscription, and a server that keeps what was registered. */
function fakes(had?: { key: Uint8Array }) {
  const log: string[] = [];
  const subscription = (endpoint: string, key: Uint8Array): BrowserSubscription => ({
    endpoint,
    options: { applicationServerKey: new Uint8Array(key).buffer },
    getKey: (name) => new Uint8Array(name === "auth" ? [7] : [8]).buffer,
    unsubscribe: async () => {
      log.push(`unsubscribed ${endpoint}`);
      current = null;
      return true;
    },
  });
  let current = had ? subscription("old", had.key) : null;
  const browser: PushSubscriptions = {
    getSubscription: async () => current,
    subscribe: async ({ userVisibleOnly, applicationServerKey }) => {
      log.push(`subscribed ${userVisibleOnly} ${applicationServerKey.join(".")}`);
      return (current = subscription("new", applicationServerKey));
    },
  };
  const api = {
    getPushProviders: async () => ({ providers: [PushProvider.WEB_PUSH], vapidPublicKey: vapid }),
    registerPush: async (r: { provider: number; token: string; p256dh: Uint8Array; auth: Uint8Array }) => void log.push(`registered ${r.provider} ${r.token} ${r.p256dh.join()} ${r.auth.join()}`),
    listPushSubscriptions: async () => ({ subscriptions: [{ id: "5", current: false }, { id: "6", current: true }] }),
    removePushSubscription: async ({ id }: { id: string }) => void log.push(`removed ${id}`),
  } as unknown as Services["pushApi"];
  return { log, browser, api };
}

test("a browser subscribes with the server's key, once, and registers each time", async () => {
  const { log, browser, api } = fakes();
  expect(await hasWebPush(api)).toBe(true);
  await registerWebPush(api, browser);
  await registerWebPush(api, browser);
  expect(log).toEqual(["subscribed true 4.1.2", "registered 1 new 8 7", "registered 1 new 8 7"]);
});

test("a subscription of another key is replaced", async () => {
  const { log, browser, api } = fakes({ key: new Uint8Array([4, 1, 3]) });
  await registerWebPush(api, browser);
  expect(log).toEqual(["unsubscribed old", "subscribed true 4.1.2", "registered 1 new 8 7"]);
});

test("only the subscription of this session is removed", async () => {
  const { log, browser, api } = fakes({ key: vapid });
  await unregisterWebPush(api, browser);
  expect(log).toEqual(["removed 6", "unsubscribed old"]);
});
