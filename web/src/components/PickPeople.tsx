import { useState } from "react";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { VirtualList } from "../ui/VirtualList.js";
import { UserAvatar } from "./Avatar.js";
import "./pick.css";

/** So many friends are looked through without a search. */
const worthSearch = 12;

/** Friends to choose from. Of thousands, those near the view are in the page. */
export function PickPeople({ picked, onChange, without = [] }: { picked: string[]; onChange: (users: string[]) => void; without?: string[] }) {
  const client = useClient();
  const t = useText();
  const [query, setQuery] = useState("");
  const all = [...client.relations().values()].filter((r) => r.friend && !r.blocked);
  const friends = all.filter((r) => !without.includes(r.user)).map((r) => r.user);
  if (friends.length === 0) return <p className="empty">{t(all.length > 0 ? "allIn" : "noFriends")}</p>;
  const wanted = query.trim().toLowerCase();
  const shown = wanted ? friends.filter((u) => nameOf(client, u).toLowerCase().includes(wanted)) : friends;
  return (
    <fieldset className="pick">
      <legend>{t("friends")}</legend>
      {friends.length > worthSearch && <input type="search" placeholder={t("searchFriends")} aria-label={t("searchFriends")} value={query} onChange={(e) => setQuery(e.target.value)} onKeyDown={(e) => e.key === "Enter" && e.preventDefault()} />}
      <VirtualList
        className="pick-list"
        rows={shown}
        keyOf={(u) => u}
        render={(u, _, reached) => (
          <label className="pick-row">
            <input type="checkbox" tabIndex={reached ? 0 : -1} checked={picked.includes(u)} onChange={(e) => onChange(e.target.checked ? [...picked, u] : picked.filter((p) => p !== u))} />
            <UserAvatar user={u} size={32} />
            <bdi className="name">{nameOf(client, u)}</bdi>
          </label>
        )}
      />
    </fieldset>
  );
}
