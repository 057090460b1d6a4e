import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { UserAvatar } from "./Avatar.js";

/** Friends to choose from. */
export function PickPeople({ picked, onChange, without = [] }: { picked: string[]; onChange: (users: string[]) => void; without?: string[] }) {
  const client = useClient();
  const t = useText();
  const all = [...client.relations().values()].filter((r) => r.friend && !r.blocked);
  const friends = all.filter((r) => !without.includes(r.user));
  if (friends.length === 0) return <p className="empty">{t(all.length > 0 ? "allIn" : "noFriends")}</p>;
  return (
    <fieldset className="pick">
      <legend>{t("friends")}</legend>
      {friends.map((r) => (
        <label key={r.user} className="pick-row">
          <input type="checkbox" checked={picked.includes(r.user)} onChange={(e) => onChange(e.target.checked ? [...picked, r.user] : picked.filter((u) => u !== r.user))} />
          <UserAvatar user={r.user} size={32} />
          <bdi className="name">{nameOf(client, r.user)}</bdi>
        </label>
      ))}
    </fieldset>
  );
}
