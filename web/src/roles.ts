import { Role, type ConversationView } from "@rialto-im/client";

/** Whether one may write into a chat: in a channel, only its admins do. */
export function canWrite(c: ConversationView): boolean {
  return c.leaveSeq === 0 && !c.dissolved && (!c.channel || c.role >= Role.ADMIN);
}

/** Whether one may react in a chat: followers of a channel do, except to notices. */
export function canReact(c: ConversationView): boolean {
  return c.leaveSeq === 0 && !c.dissolved && (!c.notices || canWrite(c));
}
