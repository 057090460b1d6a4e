import type { ChatMessage } from "@rialto-im/client";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { getLocale, useText } from "../i18n.js";
import { numbers } from "../intl.js";
import "./reactions.css";

/** The reactions to a message. Each is a button that adds one's own, or removes it. */
export function Reactions({ m, reacts }: { m: ChatMessage; reacts: boolean }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const counts = m.reactions?.counts ?? [];
  if (counts.length === 0 && !error) return null;
  return (
    <div className="reactions" data-testid="reactions">
      {counts.map(({ emoji, count }) => {
        const mine = m.reactions?.mine.includes(emoji) ?? false;
        return (
          <button key={emoji} className={mine ? "reaction mine" : "reaction"} aria-pressed={mine} aria-label={t("reacted", { emoji, n: count })} disabled={!reacts} onClick={() => void run(() => client.react(m.conversation, m.seq, emoji, mine))}>
            <span>{emoji}</span> {numbers(getLocale(), "plain").format(count)}
          </button>
        );
      })}
      {error && <span className="failed" role="alert">{error}</span>}
    </div>
  );
}
