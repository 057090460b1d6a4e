import { isThread, type Client, type ConversationView } from "@rialto-im/client";
import { client } from "./client.js";
import { getLocale, translate, type Translate } from "./i18n.js";
import { isSaved } from "./saved.js";

/** The name of a user: one's own remark for a friend, or the name they gave themselves. */
export function nameOf(client: Client, user: string, t?: Translate): string {
  if (t && user === client.me) return t("you");
  if (client.user(user)?.deleted) return translate(getLocale(), "deletedAccount");
  return client.nameOf(user) || "…";
}

/** The conversation with whose picture one is shown: of a thread, its parent. */
export function picturedBy(c: ConversationView): ConversationView {
  return (isThread(c) && client.conversation(c.parent)) || c;
}

export function titleOf(c: ConversationView): string {
  if (isSaved(c)) return translate(getLocale(), "savedMessages");
  if (isThread(c)) return translate(getLocale(), "threadIn", { title: client.conversation(c.parent)?.title || "…" });
  const customer = c.ticket && client.helpDesks.ticket(c.id)?.customer;
  if (customer && customer !== client.me) return translate(getLocale(), "ticketOf", { who: nameOf(client, customer), desk: c.title }); // an agent has many of one desk
  return c.title || "…";
}
