import { Role, type ConversationView } from "@rialto-im/client";

/** Whether one may write into a chat: in a channel, only its admins do. */
export function canWrite(c: ConversationView): boolean {
  return c.leaveSeq === 0 && !c.dissolved && (!c.channel || c.role >= Role.ADMIN);
}
