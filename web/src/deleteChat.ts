import type { Client, ConversationView } from "@rialto-im/client";
import { getLocale, translate, type Key } from "./i18n.js";
import { go, path, placeOf } from "./routes.js";
import { confirm } from "./ui/Confirm.js";

/** Asks, and then deletes a chat for oneself. What comes after the question stays. Where the chat is open, its list is shown. */
export async function deleteChat(client: Client, c: ConversationView): Promise<void> {
  const t = (key: Key) => translate(getLocale(), key);
  const through = c.lastSeq;
  const isDirect = c.peer !== "0" && c.peer !== "";
  if (!(await confirm({ label: t("deleteChat"), question: t(isDirect ? "sureDeleteChat" : "sureDeleteGroupChat") }))) return;
  await client.deleteConversation(c.id, through);
  const place = placeOf(location.pathname);
  if (place.area === "chats" && place.chat === c.id) go(path.chats, { replace: true });
}
