import type { Client, ConversationView } from "@rialto-im/client";
import type { Translate } from "./i18n.js";

/** The name of a user: one's own remark for a friend, or the name they gave themselves. */
export function nameOf(client: Client, user: string, t?: Translate): string {
  if (t && user === client.me) return t("you");
  return client.relations().get(user)?.remark || client.user(user)?.displayName || "…";
}

export function titleOf(client: Client, c: ConversationView): string {
  return c.peer !== "0" && c.peer !== "" ? nameOf(client, c.peer) : c.title || "…";
}
