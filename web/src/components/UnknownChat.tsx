import { useEffect, useState } from "react";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { ChannelPage } from "./ChannelPage.js";

/** An address of a conversation that is not on this device: a thread that one does not follow, a channel, or none that one may read. */
export function UnknownChat({ id, onBack }: { id: string; onBack: () => void }) {
  const client = useClient();
  const t = useText();
  const [refused, setRefused] = useState(false);
  useEffect(() => {
    client.loadThread(id).catch(() => setRefused(true)); // once it is here, its pane takes this place
  }, [client, id]);
  if (refused) return <ChannelPage at={{ conversation: id }} onBack={onBack} />;
  return <main className="chat"><header className="chat-head"><p className="muted" role="status">{t("loading")}</p></header></main>;
}
