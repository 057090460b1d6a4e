import { useText } from "../i18n.js";
import { UserAvatar } from "./Avatar.js";
import "./mention.css";
import type { Mentioning } from "./useMentioning.js";

/** Names to choose from while one types: the field keeps the focus. */
export function MentionList({ id, of: { choices, active, choose } }: { id: string; of: Mentioning }) {
  const t = useText();
  if (choices.length === 0) return null;
  return (
    <ul id={id} className="mention-list" role="listbox" aria-label={t("mention")} data-testid="mentions">
      {choices.map((o, i) => (
        <li key={o.key} id={`${id}-${i}`} role="option" aria-selected={i === active} onPointerDown={(e) => e.preventDefault()} onClick={() => choose(o)}>
          {o.user ? <UserAvatar user={o.user} size={28} /> : <span className="mention-role" aria-hidden="true">@</span>}
          <bdi>{o.name}</bdi>
          {o.user && <small>@{o.handle}</small>}
        </li>
      ))}
    </ul>
  );
}

/** What tells a screen reader which of the names is active. */
export function mentionAria(id: string, { choices, active }: Mentioning) {
  return choices.length > 0 ? { "aria-autocomplete": "list" as const, "aria-controls": id, "aria-activedescendant": `${id}-${active}` } : { "aria-autocomplete": "list" as const };
}
