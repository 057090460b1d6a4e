import type { ConversationView } from "@rialto-im/client";
import { useCallback, useEffect, useState } from "react";
import type { RunAction } from "../action.js";
import { useClient, useOnline } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { UserAvatar } from "./Avatar.js";

/** The users who are banned from a group, the first 200 of them, for its admins to unban. */
export function Bans({ c, run }: { c: ConversationView; run: RunAction }) {
  const client = useClient();
  const t = useText();
  const online = useOnline();
  const [list, setList] = useState<string[]>([]);
  const load = useCallback(async () => setList((await client.chat.listBans({ conversation: c.id, limit: 200 })).users), [client, c.id]);
  useEffect(() => {
    if (online) void run(load);
    // The list is read again when the conversation says that it changed.
  }, [load, online, c.stateSeq]);
  if (list.length === 0) return null;
  return (
    <>
      <h4>{t("bans")}</h4>
      <ul className="members" data-testid="bans">
        {list.map((user) => (
          <li key={user} className="person">
            <UserAvatar user={user} size={32} />
            <span className="person-name"><bdi className="name">{nameOf(client, user, t)}</bdi></span>
            <button onClick={() => run(async () => { await client.chat.unban({ conversation: c.id, users: [user] }); await load(); })}>{t("unban")}</button>
          </li>
        ))}
      </ul>
    </>
  );
}
