import { hasWebPush, registerWebPush, unregisterWebPush, type PushSettings, type PushSubscriptions, type QuietHours } from "@rialto-im/client";
import { client } from "../client.js";
import { go } from "../routes.js";
import { getChoices } from "./choices.js";

/** Whether the browser can be pushed to. On iPhones it can once the app is installed. */
export function isPushSupported(): boolean {
  return "serviceWorker" in navigator && "PushManager" in window;
}

async function subscriptions(): Promise<PushSubscriptions> {
  return (await navigator.serviceWorker.ready).pushManager as PushSubscriptions;
}

/** Whether the server pushes to browsers. */
export async function isPushAvailable(): Promise<boolean> {
  return isPushSupported() && hasWebPush(client.pushApi);
}

export async function setPush(on: boolean): Promise<void> {
  if (on) await registerWebPush(client.pushApi, await subscriptions());
  else await unregisterWebPush(client.pushApi, await subscriptions());
}

/** Whether push notifications of all devices have texts. */
export async function setPushText(on: boolean): Promise<void> {
  await changePushSettings({ showText: on });
}

let changed: Promise<unknown> = Promise.resolve();

/** Changes some of the settings, which the server replaces as a whole. One change follows the other, so that none undoes another. */
export function changePushSettings(part: Partial<Pick<PushSettings, "showText">> & { quietHours?: Pick<QuietHours, "from" | "to" | "timeZone"> | undefined }): Promise<void> {
  const change = async () => {
    const { showText, pausedUntilMs, quietHours } = await client.pushApi.getPushSettings({});
    await client.pushApi.setPushSettings({ showText, pausedUntilMs, quietHours, ...part });
  };
  const done = changed.then(change, change);
  changed = done;
  return done;
}

/** Registers what the browser has by now: browsers replace subscriptions, and another user may have used this one. Failing is no harm: the next start tries again. */
export function renewPush(): void {
  const { on, push } = getChoices();
  if (on && push && isPushSupported()) void setPush(true).catch(() => {});
}

/** Opens the places of notifications that the service worker shows. */
export function openPushed(): () => void {
  if (!("serviceWorker" in navigator)) return () => {};
  const opened = (e: MessageEvent) => {
    const place: unknown = (e.data as { open?: unknown } | null)?.open;
    if (typeof place === "string" && place.startsWith("/") && !place.startsWith("//")) go(place);
  };
  navigator.serviceWorker.addEventListener("message", opened);
  return () => navigator.serviceWorker.removeEventListener("message", opened);
}
