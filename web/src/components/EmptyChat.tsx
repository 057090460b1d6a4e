import { isThread, Role, type ConversationView } from "@rialto-im/client";
import { client } from "../client.js";
import { useText } from "../i18n.js";
import { titleOf } from "../names.js";
import { isSaved } from "../saved.js";
import { Tip } from "../ui/Tip.js";
import "./emptyChat.css";

/** What a chat shows in which nobody has written yet. */
export function EmptyChat({ c }: { c: ConversationView }) {
  const t = useText();
  if (c.dissolved || c.leaveSeq > 0) return null;
  const direct = c.peer !== "0" && c.peer !== "";
  if (isSaved(c)) return <div className="empty-chat"><p>{t("savedHint")}</p></div>;
  if (c.channel && c.role === Role.MEMBER) return <div className="empty-chat"><p>{t("emptyChannel", { who: titleOf(c) })}</p></div>;
  return (
    <div className="empty-chat">
      <p>{t(direct ? "emptyDirect" : isThread(c) ? "emptyThread" : "emptyGroup", { who: titleOf(c) })}</p>
      <Tip label={t("wave")}><button aria-label={t("wave")} onClick={() => void client.sendText(c.id, "👋")}>👋</button></Tip>
    </div>
  );
}
