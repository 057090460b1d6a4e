import type { ConversationView } from "@rialto-im/client";
import { useState } from "react";
import { errorText, useClient } from "../client.js";
import { useText } from "../i18n.js";
import { titleOf } from "../names.js";
import { Avatar, UserAvatar } from "./Avatar.js";
import { Confirm } from "./Confirm.js";
import { GroupPanel } from "./GroupPanel.js";
import { CloseIcon } from "./icons.js";

/** What there is to know and to set about a conversation. */
export function InfoPanel({ c, onClose }: { c: ConversationView; onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const [error, setError] = useState("");
  const direct = c.peer !== "0" && c.peer !== "";
  const run = async (work: () => Promise<unknown>) => {
    setError("");
    try {
      await work();
    } catch (err) {
      setError(errorText(err));
    }
  };
  const relation = client.relations().get(c.peer);
  return (
    <aside className="info" aria-label={t("groupInfo")}>
      <header>
        <h2>{t("groupInfo")}</h2>
        <button className="icon" aria-label={t("close")} onClick={onClose} autoFocus><CloseIcon /></button>
      </header>
      <div className="info-who">
        {direct ? <UserAvatar user={c.peer} size={72} /> : <Avatar id={c.id} name={c.title} size={72} />}
        <h3>{titleOf(client, c)}</h3>
        {direct && <p className="muted">{client.user(c.peer)?.bio}</p>}
      </div>
      {error && <p className="error" role="alert">{error}</p>}
      <div className="buttons">
        <button onClick={() => run(() => client.configure(c.id, { pinned: !c.pinned }))}>{t(c.pinned ? "unpin" : "pin")}</button>
        <button onClick={() => run(() => client.configure(c.id, { muted: !c.muted }))}>{t(c.muted ? "unmute" : "mute")}</button>
        {direct && relation?.blocked && <button onClick={() => run(() => client.relate(client.graph.unblock({ user: c.peer })))}>{t("unblock")}</button>}
        {direct && !relation?.blocked && <Confirm label={t("block")} question={t("sureBlock", { who: titleOf(client, c) })} onYes={() => void run(() => client.relate(client.graph.block({ user: c.peer })))} />}
      </div>
      {!direct && <GroupPanel c={c} run={run} />}
    </aside>
  );
}
