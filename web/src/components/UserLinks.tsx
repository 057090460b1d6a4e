import { Link } from "wouter";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { path } from "../routes.js";
import { UserAvatar } from "./Avatar.js";
import "./people.css";

/** Users by their names, each with a link to the user's page. */
export function UserLinks({ users }: { users: readonly string[] }) {
  const client = useClient();
  const t = useText();
  if (users.length === 0) return <p className="empty">{t("nobodyYet")}</p>;
  return (
    <ul className="members">
      {users.map((user) => <li key={user}><Link href={path.user(user)} className="person"><UserAvatar user={user} size={32} /><bdi className="name">{nameOf(client, user)}</bdi></Link></li>)}
    </ul>
  );
}
