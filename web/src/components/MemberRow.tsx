import { Role, type ConversationView, type Member } from "@rialto-im/client";
import { useClient } from "../client.js";
import { when } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { UserAvatar } from "./Avatar.js";
import { Confirm } from "./Confirm.js";
import type { Run } from "./GroupPanel.js";
import { Menu } from "./Menu.js";

const anHour = 3_600_000;

export function MemberRow({ c, m, run, manages, onOpen }: { c: ConversationView; m: Member; run: Run; manages: boolean; onOpen: (id: string) => void }) {
  const client = useClient();
  const t = useText();
  const { user } = m;
  const owner = c.role === Role.OWNER;
  const over = manages && (owner || m.role === Role.MEMBER);
  const name = nameOf(client, user, t);
  const relation = client.relations().get(user);
  const muted = m.mutedUntilMs > Date.now();
  const mute = (untilMs: number) => run(() => client.chat.muteMembers({ conversation: c.id, users: [user], untilMs: BigInt(untilMs) }));
  const about = [m.role === Role.OWNER ? t("owner") : m.role === Role.ADMIN ? t("admin") : "", muted ? t("mutedUntil", { when: when(Number(m.mutedUntilMs), getLocale(), t) }) : ""];
  return (
    <li className="person">
      <UserAvatar user={user} size={32} />
      <span className="person-name"><bdi className="name">{name}</bdi><small>{about.filter(Boolean).join(" · ")}</small></span>
      {user !== client.me && (
        <Menu label={name}>
          <button onClick={() => run(async () => onOpen((await client.openDirect(user)).id))}>{t("message")}</button>
          {!relation?.friend && !relation?.requested && !relation?.blocked && <button onClick={() => run(() => client.relate(client.graph.requestFriend({ user })))}>{t("addFriend")}</button>}
          {owner && <button onClick={() => run(() => client.chat.setRole({ conversation: c.id, user, role: m.role === Role.ADMIN ? Role.MEMBER : Role.ADMIN }))}>{t(m.role === Role.ADMIN ? "makeMember" : "makeAdmin")}</button>}
          {over && <button onClick={() => mute(muted ? 0 : Date.now() + anHour)}>{t(muted ? "unmuteMember" : "muteMember")}</button>}
          {owner && <Confirm label={t("makeOwner")} question={t("sureOwner", { who: name })} onYes={() => void run(() => client.chat.transfer({ conversation: c.id, user }))} />}
          {over && <Confirm label={t("remove")} question={t("sureRemove", { who: name })} onYes={() => void run(() => client.chat.remove({ conversation: c.id, users: [user] }))} />}
        </Menu>
      )}
    </li>
  );
}
