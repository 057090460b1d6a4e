import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { UserAvatar } from "./Avatar.js";

/** Friends to choose from. */
export function PickPeople({ picked, onChange, without = [] }: { picked: string[]; onChange: (users: string[]) => void; without?: string[] }) {
  const client = useClient();
  const t = useText();
  const friends = [...client.relations().values()].filter((r) => r.friend && !without.includes(r.user));
  if (friends.length === 0) return <p className="empty">{t("noFriends")}</p>;
  return (
    <fieldset className="pick">
      <legend>{t("friends")}</legend>
      {friends.map((r) => (
        <label key={r.user} className="pick-row">
          <input type="checkbox" checked={picked.includes(r.user)} onChange={(e) => onChange(e.target.checked ? [...picked, r.user] : picked.filter((u) => u !== r.user))} />
          <UserAvatar user={r.user} size={32} />
          {nameOf(client, r.user)}
        </label>
      ))}
    </fieldset>
  );
}
