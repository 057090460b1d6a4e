import type { ChatMessage, Client, ConversationView } from "@rialto-im/client";
import { client } from "./client.js";

/** Whether a conversation is that with oneself, which has the saved messages. */
export function isSaved(c: ConversationView): boolean {
  return c.peer !== "0" && c.peer !== "" && c.peer === client.me;
}

/** Forwards a message to oneself. */
export async function save(client: Client, m: ChatMessage): Promise<void> {
  const saved = await client.openDirect(client.me);
  await client.forward(saved.id, m.conversation, [m.seq]);
}
