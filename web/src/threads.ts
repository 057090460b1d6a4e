import type { ChatMessage, Client } from "@rialto-im/client";
import { go, path } from "./routes.js";

/** Opens the thread under a message beside its chat; starts it where there is none. */
export async function openThread(client: Client, m: ChatMessage): Promise<void> {
  const thread = m.thread ? await client.loadThread(m.thread.conversation) : await client.startThread(m.conversation, m.seq);
  go(path.chat(thread.id));
}
