import type { ConversationView } from "@rialto-im/client";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import "./channel.css";

/** What a follower has in place of the composer. */
export function ChannelFoot({ c }: { c: ConversationView }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  return (
    <div className="channel-foot">
      {error && <p className="error" role="alert">{error}</p>}
      <button onClick={() => void run(() => client.configure(c.id, { muted: !c.muted }))}>{t(c.muted ? "unmute" : "mute")}</button>
    </div>
  );
}
