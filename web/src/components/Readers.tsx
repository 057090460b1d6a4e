import type { ChatMessage } from "@rialto-im/client";
import { useState } from "react";
import { useClient } from "../client.js";
import { errorText } from "../errors.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";

const shown = 200;

/** In a group, who has read one's own message is asked for, when one wants to know. */
export function Readers({ m }: { m: ChatMessage }) {
  const client = useClient();
  const t = useText();
  const [answer, setAnswer] = useState<{ read: string[]; unread: string[] } | undefined>();
  const [error, setError] = useState("");
  const ask = async () => {
    setError("");
    if (answer) return setAnswer(undefined);
    try {
      const of = { conversation: m.conversation, seq: BigInt(m.seq), limit: shown };
      const [read, unread] = await Promise.all([client.chat.listReaders(of), client.chat.listReaders({ ...of, unread: true })]);
      setAnswer({ read: read.users, unread: unread.users });
    } catch (err) {
      setError(errorText(err));
    }
  };
  const names = answer?.read.map((u) => nameOf(client, u)).join(", ");
  return (
    <>
      {answer && (
        <span className="readers" role="status">
          {t("readBy", { n: answer.read.length })}
          {names && `: ${names}`}
          {answer.unread.length > 0 && ` · ${t("unreadBy", { n: answer.unread.length })}`}
        </span>
      )}
      {error && <span className="failed">{error}</span>}
      <button className="state ask" aria-expanded={answer !== undefined} aria-label={`${t("sent")}. ${t("readBy", { n: answer?.read.length ?? "…" })}`} title={t("read")} onClick={() => void ask()} data-testid="state">✓</button>
    </>
  );
}
