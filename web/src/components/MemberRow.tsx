import { Role, type ConversationView, type Member } from "@rialto-im/client";
import type { RunAction } from "../action.js";
import { useClient } from "../client.js";
import { until } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { UserAvatar } from "./Avatar.js";
import { Menu, MenuItem } from "../ui/Menu.js";

const anHour = 3_600_000;

interface Props {
  c: ConversationView;
  m: Member;
  run: RunAction;
  manages: boolean;
  onOpen: (id: string) => void;
  onRemoved: () => Promise<void>;
}

export function MemberRow({ c, m, run, manages, onOpen, onRemoved }: Props) {
  const client = useClient();
  const t = useText();
  const { user } = m;
  const owner = c.role === Role.OWNER;
  const over = manages && (owner || m.role === Role.MEMBER);
  const name = nameOf(client, user, t);
  const relation = client.relations().get(user);
  const muted = m.mutedUntilMs > Date.now();
  const mute = (untilMs: number) => run(() => client.chat.muteMembers({ conversation: c.id, users: [user], untilMs: BigInt(untilMs) }));
  const about = [m.role === Role.OWNER ? t("owner") : m.role === Role.ADMIN ? t("admin") : "", muted ? t("mutedUntil", { when: until(Number(m.mutedUntilMs), getLocale()) }) : ""];
  return (
    <div className="person">
      <UserAvatar user={user} size={32} presence />
      <span className="person-name"><bdi className="name">{name}</bdi><small>{about.filter(Boolean).join(" · ")}</small></span>
      {user !== client.me && (
        <Menu label={name}>
          <MenuItem label={t("message")} onSelect={() => run(async () => onOpen((await client.openDirect(user)).id))} />
          {!relation?.friend && !relation?.requested && !relation?.blocked && <MenuItem label={t("addFriend")} onSelect={() => run(() => client.relate(client.graph.requestFriend({ user })))} />}
          {owner && <MenuItem label={t(m.role === Role.ADMIN ? "makeMember" : "makeAdmin")} onSelect={() => run(() => client.chat.setRole({ conversation: c.id, user, role: m.role === Role.ADMIN ? Role.MEMBER : Role.ADMIN }))} />}
          {over && !c.channel && <MenuItem label={t(muted ? "unmuteMember" : "muteMember")} onSelect={() => mute(muted ? 0 : Date.now() + anHour)} />}
          {owner && (!c.channel || m.role === Role.ADMIN) && <MenuItem label={t("makeOwner")} sure={t("sureOwner", { who: name })} onSelect={() => void run(() => client.chat.transfer({ conversation: c.id, user }))} />}
          {over && <MenuItem label={t("remove")} sure={t("sureRemove", { who: name })} onSelect={() => void run(() => client.chat.remove({ conversation: c.id, users: [user] }).then(onRemoved))} />}
          {over && <MenuItem label={t("ban")} sure={t("sureBan", { who: name })} onSelect={() => void run(() => client.chat.ban({ conversation: c.id, users: [user] }).then(onRemoved))} />}
        </Menu>
      )}
    </div>
  );
}
