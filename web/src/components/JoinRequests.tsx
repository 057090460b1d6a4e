import type { ConversationView } from "@rialto-im/client";
import { useCallback, useEffect, useState } from "react";
import type { RunAction } from "../action.js";
import { useClient, useOnline } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { UserAvatar } from "./Avatar.js";

interface Asking {
  user: string;
  message: string;
}

/** Those who want to join a group, for its admins to answer. */
export function JoinRequests({ c, run }: { c: ConversationView; run: RunAction }) {
  const client = useClient();
  const t = useText();
  const [list, setList] = useState<Asking[]>([]);
  const load = useCallback(async () => setList((await client.chat.listJoinRequests({ conversation: c.id })).requests), [client, c.id]);
  const online = useOnline();
  useEffect(() => {
    if (!online) return;
    void run(load);
    return client.on("joinRequests", (r) => {
      if (r.conversation === c.id) void run(load);
    });
  }, [client, load, online, c.id, c.stateSeq]);
  const answer = (user: string, accept: boolean) =>
    run(async () => {
      await client.chat.answerJoinRequest({ conversation: c.id, user, accept });
      await load();
    });
  if (list.length === 0) return null;
  return (
    <>
      <h4>{t("joinRequests")}</h4>
      <ul className="members">
        {list.map((r) => (
          <li key={r.user} className="person">
            <UserAvatar user={r.user} size={32} />
            <span className="person-name"><bdi className="name">{nameOf(client, r.user)}</bdi><small dir="auto">{r.message}</small></span>
            <button className="primary small" onClick={() => answer(r.user, true)}>{t("accept")}</button>
            <button onClick={() => answer(r.user, false)}>{t("decline")}</button>
          </li>
        ))}
      </ul>
    </>
  );
}
