import type { ConversationView } from "@rialto-im/client";
import { useCallback, useEffect, useState } from "react";
import type { RunAction } from "../action.js";
import { useClient, useOnline } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { UserAvatar } from "./Avatar.js";

/** An invitation as the group's admins see it. */
interface Pending {
  user: string;
  inviter: string;
}

/** The users who are invited to a group and have not answered, the first 200 of them, for its admins to cancel. asked rises when somebody was invited here. */
export function Invited({ c, run, asked }: { c: ConversationView; run: RunAction; asked: number }) {
  const client = useClient();
  const t = useText();
  const online = useOnline();
  const [list, setList] = useState<readonly Pending[]>([]);
  const load = useCallback(async () => setList((await client.chat.listGroupInvitations({ conversation: c.id, limit: 200 })).invitations), [client, c.id]);
  useEffect(() => {
    if (online) void run(load);
    // Whoever accepts comes in by an entry: the list is read again then.
  }, [load, run, online, c.stateSeq, asked]);
  if (list.length === 0) return null;
  const cancel = (user: string) =>
    run(async () => {
      await client.chat.cancelInvitation({ conversation: c.id, user });
      await load();
    });
  return (
    <>
      <h4>{t("invited")}</h4>
      <ul className="members" data-testid="invited">
        {list.map(({ user, inviter }) => (
          <li key={user} className="person">
            <UserAvatar user={user} size={32} />
            <span className="person-name"><bdi className="name">{nameOf(client, user, t)}</bdi><small>{t("invitedByWhom", { who: inviter === client.me ? t("youObject") : nameOf(client, inviter, t) })}</small></span>
            <button onClick={() => void cancel(user)}>{t("cancelInvitation")}</button>
          </li>
        ))}
      </ul>
    </>
  );
}
