import type { Client } from "./client.js";
import type { registerKind } from "./kinds.js";

/**
 * What the index.js of web.extensions exports as its default: the web app calls it before it shows anything. The client is that of the signed-in
 * user; the page's language is document.documentElement.lang.
 */
export type WebExtension = (app: { client: Client; registerKind: typeof registerKind }) => void | Promise<void>;
