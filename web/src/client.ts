import { Client } from "@rialto-im/client";
import { useSyncExternalStore } from "react";

/** The one client of this page. */
export const client = new Client({ info: { name: browserName(), type: "web" } });

function browserName(): string {
  const ua = navigator.userAgent;
  const browser = /Edg\//.test(ua) ? "Edge" : /Firefox\//.test(ua) ? "Firefox" : /Chrome\//.test(ua) ? "Chrome" : /Safari\//.test(ua) ? "Safari" : "Browser";
  const system = /Android/.test(ua) ? "Android" : /iPhone|iPad/.test(ua) ? "iOS" : /Windows/.test(ua) ? "Windows" : /Mac OS/.test(ua) ? "macOS" : "Linux";
  return `${browser} · ${system}`;
}

/** Renders again with each change of what the client shows. */
export function useClient(): Client {
  useSyncExternalStore(client.subscribe, client.version);
  return client;
}

/** What a view shows of an error. */
export function errorText(err: unknown): string {
  return err instanceof Error ? err.message : String(err);
}
