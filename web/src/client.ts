import { Client } from "@rialto-im/client";
import { useSyncExternalStore } from "react";
import { Drafts } from "./drafts.js";
import { Frames } from "./frames.js";
import { kept } from "./kept.js";
import { Uploads, type PendingUpload } from "./uploads.js";

/** The one client of this page. */
export const client = new Client({ info: { name: browserName(), type: "web" } });

/** The files on their way from this page. */
export const uploads = new Uploads(client);
client.on("connection", (s) => {
  if (s === "signed-out") uploads.clear();
  if (s !== "online") return;
  uploads.wake();
  void drafts.restore();
});

/** What is typed and not yet with the client. */
export const drafts = new Drafts(
  {
    get me() {
      return client.me;
    },
    configure: (c, s) => client.configure(c, s),
    pending: (c) => client.conversation(c)?.pending.draft !== undefined,
  },
  kept,
);

/** Many changes between two frames, as of a burst of messages, are one to the views. */
const frames = new Frames(client.subscribe);

export function useUploads(): readonly PendingUpload[] {
  return useSyncExternalStore(uploads.subscribe, uploads.all);
}

function browserName(): string {
  const ua = navigator.userAgent;
  const browser = /Edg\//.test(ua) ? "Edge" : /Firefox\//.test(ua) ? "Firefox" : /Chrome\//.test(ua) ? "Chrome" : /Safari\//.test(ua) ? "Safari" : "Browser";
  const system = /Android/.test(ua) ? "Android" : /iPhone|iPad/.test(ua) ? "iOS" : /Windows/.test(ua) ? "Windows" : /Mac OS/.test(ua) ? "macOS" : "Linux";
  return `${browser} · ${system}`;
}

/** Renders again when what the client shows has changed. */
export function useClient(): Client {
  useSyncExternalStore(frames.subscribe, frames.shown);
  return client;
}

/** Whether calls get through now. */
export function useOnline(): boolean {
  const { connection } = useClient();
  return connection === "online" || connection === "polling";
}
