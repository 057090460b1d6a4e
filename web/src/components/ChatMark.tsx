import type { ConversationView } from "@rialto-im/client";
import { useText } from "../i18n.js";
import { MegaphoneIcon } from "./icons.js";
import "./official.css";
import { VerifiedMark } from "./VerifiedMark.js";

/** What tells a chat from others of its name: that it is with an official account, or a channel, which is often called the same. */
export function ChatMark({ c }: { c: ConversationView }) {
  const t = useText();
  if (c.peer !== "0" && c.peer !== "") return <VerifiedMark user={c.peer} />;
  if (!c.channel) return null;
  const label = t(c.notices ? "systemNotices" : "aChannel");
  return <span className="channel-mark" title={label}><MegaphoneIcon /><span className="sr-only">{label}</span></span>;
}
