import { unread, type ChatMessage } from "@rialto-im/client";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { when } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { useNow } from "../now.js";
import { openThread } from "../threads.js";
import "./thread.css";

/** How many replies are in the thread under a message; opens it. Nothing while there are none. */
export function ThreadLink({ m }: { m: ChatMessage }) {
  const client = useClient();
  const t = useText();
  const now = useNow();
  const { run, error } = useAction();
  const { thread } = m;
  if (!thread || thread.replies === 0) return null;
  const followed = client.threads().find((c) => c.id === thread.conversation);
  const isNew = followed !== undefined && unread(followed) > 0;
  return (
    <>
      <button className="thread-link" onClick={() => void run(() => openThread(client, m))} data-testid="thread-link">
        <b>{t("replies", { n: thread.replies })}</b> <span className="muted">{when(thread.lastReplyMs, getLocale(), now)}</span>
        {isNew && <b className="badge" data-testid="thread-unread">{unread(followed)}</b>}
      </button>
      {error && <span className="failed" role="alert">{error}</span>}
    </>
  );
}
