import { useState } from "react";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { VirtualList } from "../ui/VirtualList.js";
import { UserAvatar } from "./Avatar.js";
import "./pick.css";
import { useUserSearch } from "./useUserSearch.js";

/** So many friends are looked through without a search. */
const worthSearch = 12;

/** Friends to choose from; with everyone, a search finds others too. Of thousands, those near the view are in the page. */
export function PickPeople({ picked, onChange, without = [], everyone = false }: { picked: string[]; onChange: (users: string[]) => void; without?: string[]; everyone?: boolean }) {
  const client = useClient();
  const t = useText();
  const [query, setQuery] = useState("");
  const [error, setError] = useState("");
  const found = useUserSearch(everyone ? query : "", setError);
  const all = [...client.relations().values()].filter((r) => r.friend && !r.blocked);
  const friends = all.filter((r) => !without.includes(r.user)).map((r) => r.user);
  if (friends.length === 0 && !everyone) return <p className="empty">{t(all.length > 0 ? "allIn" : "noFriends")}</p>;
  const wanted = query.trim().toLowerCase();
  const matching = wanted ? friends.filter((u) => nameOf(client, u).toLowerCase().includes(wanted)) : friends;
  const others = (found ?? picked).map((u) => (typeof u === "string" ? u : u.id)).filter((u) => !friends.includes(u) && !without.includes(u) && !client.relations().get(u)?.blocked);
  const shown = [...matching, ...others];
  const label = t(everyone ? "findPeople" : "searchFriends");
  return (
    <fieldset className="pick">
      <legend>{t(everyone ? "people" : "friends")}</legend>
      {(everyone || friends.length > worthSearch) && <input type="search" placeholder={label} aria-label={label} value={query} onChange={(e) => setQuery(e.target.value)} onKeyDown={(e) => e.key === "Enter" && e.preventDefault()} />}
      {error && <p className="error" role="alert">{error}</p>}
      {found && shown.length === 0 && <p className="empty" role="status">{t("nobody")}</p>}
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
