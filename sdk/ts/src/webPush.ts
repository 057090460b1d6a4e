import { PushProvider } from "./gen/rialto/push/v1/push_pb.js";
import type { Services } from "./services.js";

/** What a browser's PushManager has for this: its subscriptions, one for each service worker. */
export interface PushSubscriptions {
  getSubscription(): Promise<BrowserSubscription | null>;
  subscribe(options: { userVisibleOnly: boolean; applicationServerKey: Uint8Array<ArrayBuffer> }): Promise<BrowserSubscription>;
}

/** A PushSubscription of the browser, as far as it is used. */
export interface BrowserSubscription {
  readonly endpoint: string;
  readonly options?: { readonly applicationServerKey: ArrayBuffer | null };
  getKey(name: "p256dh" | "auth"): ArrayBuffer | null;
  unsubscribe(): Promise<boolean>;
}

type PushApi = Services["pushApi"];

/** Whether the server sends Web Push. */
export async function hasWebPush(api: PushApi): Promise<boolean> {
  return (await api.getPushProviders({})).providers.includes(PushProvider.WEB_PUSH);
}

/**
 * Has this browser pushed what comes while the app is closed, until the session ends. It may be repeated: at each start of the app, it registers what the
 * browser has meanwhile. The browser must have allowed notifications.
 */
export async function registerWebPush(api: PushApi, browser: PushSubscriptions): Promise<void> {
  const { vapidPublicKey } = await api.getPushProviders({});
  const key = new Uint8Array(vapidPublicKey);
  let subscription = await browser.getSubscription();
  if (subscription && !sameBytes(subscription.options?.applicationServerKey, key)) {
    await subscription.unsubscribe(); // of another server, or of one whose key was lost
    subscription = null;
  }
  subscription ??= await browser.subscribe({ userVisibleOnly: true, applicationServerKey: key });
  const [p256dh, auth] = [subscription.getKey("p256dh"), subscription.getKey("auth")];
  if (!p256dh || !auth) throw new Error("the browser's subscription has no keys");
  await api.registerPush({ provider: PushProvider.WEB_PUSH, token: subscription.endpoint, p256dh: new Uint8Array(p256dh), auth: new Uint8Array(auth) });
}

/** Has this browser pushed nothing more. */
export async function unregisterWebPush(api: PushApi, browser: PushSubscriptions): Promise<void> {
  const { subscriptions } = await api.listPushSubscriptions({});
  for (const s of subscriptions) if (s.current) await api.removePushSubscription({ id: s.id });
  await (await browser.getSubscription())?.unsubscribe();
}

function sameBytes(a: ArrayBuffer | null | undefined, b: Uint8Array): boolean {
  if (!a || a.byteLength !== b.length) return false;
  const bytes = new Uint8Array(a);
  return b.every((byte, i) => bytes[i] === byte);
}
