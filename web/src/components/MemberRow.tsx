import { Role, type ConversationView, type Member } from "@rialto-im/client";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { UserAvatar } from "./Avatar.js";
import { Confirm } from "./Confirm.js";
import type { Run } from "./GroupPanel.js";
import { Menu } from "./Menu.js";

const anHour = 3_600_000;

export function MemberRow({ c, m, run, manages }: { c: ConversationView; m: Member; run: Run; manages: boolean }) {
  const client = useClient();
  const t = useText();
  const owner = c.role === Role.OWNER;
  const over = m.user !== client.me && (owner || m.role === Role.MEMBER);
  const name = nameOf(client, m.user, t);
  return (
    <li className="person">
      <UserAvatar user={m.user} size={32} />
      <span className="person-name">{name}<small>{m.role === Role.OWNER ? t("owner") : m.role === Role.ADMIN ? t("admin") : ""}</small></span>
      {manages && over && (
        <Menu label={name}>
          {owner && <button onClick={() => run(() => client.chat.setRole({ conversation: c.id, user: m.user, role: m.role === Role.ADMIN ? Role.MEMBER : Role.ADMIN }))}>{t(m.role === Role.ADMIN ? "makeMember" : "makeAdmin")}</button>}
          {owner && <button onClick={() => run(() => client.chat.transfer({ conversation: c.id, user: m.user }))}>{t("makeOwner")}</button>}
          <button onClick={() => run(() => client.chat.muteMembers({ conversation: c.id, users: [m.user], untilMs: BigInt(Date.now() + anHour) }))}>{t("muteMember")}</button>
          <Confirm label={t("remove")} question={t("sureRemove", { who: name })} onYes={() => void run(() => client.chat.remove({ conversation: c.id, users: [m.user] }))} />
        </Menu>
      )}
    </li>
  );
}
