import { Client, type PendingUpload } from "@rialto-im/client";
import { useClient } from "@rialto-im/client/react";
import { Appearance } from "./appearance.js";
import { CommentDrafts } from "./commentDraft.js";
import { Drafts } from "./drafts.js";
import { setLocale } from "./i18n.js";
import { PostDrafts } from "./postDraft.js";
import { RecentSearches } from "./search/recent.js";
import { storage } from "./storage.js";
import { setTheme } from "./theme.js";
import { VideoUploads } from "./videoUploads.js";

export { useClient, useOnline } from "@rialto-im/client/react";

/** The one client of this page. */
export const client = new Client({ info: { name: browserName(), type: "web" } });

client.on("connection", (s) => {
  if (s === "online") void drafts.restore();
});

/** Text that was typed and that the client does not have yet. */
export const drafts = new Drafts(
  {
    get me() {
      return client.me;
    },
    configure: (c, s) => client.configure(c, s),
    pending: (c) => client.conversation(c)?.pending.draft !== undefined,
  },
  storage,
);

/** Posts that are being written. */
export const postDrafts = new PostDrafts(storage, () => client.me);

/** Comments that are being written, or on their way. */
export const commentDrafts = new CommentDrafts(storage, () => client.me);

/** Video files on their way. */
export const videoUploads = new VideoUploads(client);
client.on("connection", (s) => {
  if (s === "signed-out") videoUploads.clear();
});

export const recentSearches = new RecentSearches(storage, () => client.me);

/** Language and theme, as the account has them. */
export const appearance = new Appearance(client, storage, ({ locale, theme }) => {
  if (locale) setLocale(locale);
  if (theme) setTheme(theme);
});
client.subscribe(() => appearance.follow());

/** The files on their way. */
export function useUploads(): readonly PendingUpload[] {
  return useClient().uploads();
}

export function browserName(): string {
  const ua = navigator.userAgent;
  const browser = /Edg\//.test(ua) ? "Edge" : /Firefox\//.test(ua) ? "Firefox" : /Chrome\//.test(ua) ? "Chrome" : /Safari\//.test(ua) ? "Safari" : "Browser";
  const system = /Android/.test(ua) ? "Android" : /iPhone|iPad/.test(ua) ? "iOS" : /Windows/.test(ua) ? "Windows" : /Mac OS/.test(ua) ? "macOS" : "Linux";
  return `${browser} · ${system}`;
}
