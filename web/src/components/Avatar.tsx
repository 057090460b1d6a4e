import { useClient } from "../client.js";
import { useText } from "../i18n.js";

const hues = [168, 205, 250, 290, 330, 12, 38, 95];

/** A picture, or the first letter of the name on a colour that belongs to the id. */
export function Avatar({ id, name, url, size = 40, dot }: { id: string; name: string; url?: string | undefined; size?: number; dot?: boolean | undefined }) {
  const hue = hues[Number((BigInt(id || "0") >> 22n) % BigInt(hues.length))] ?? 0; // the bits below count within a millisecond
  const letter = [...(name || "?")][0]!.toUpperCase();
  return (
    <span className="avatar" style={{ width: size, height: size, fontSize: size * 0.42, ["--hue" as string]: hue }} aria-hidden="true" data-user={id}>
      {url ? <img src={url} alt="" width={size} height={size} /> : letter}
      {dot && <span className="dot on" />}
    </span>
  );
}

/** A user's picture, with a dot while they are online. */
export function UserAvatar({ user, size = 40, presence = false }: { user: string; size?: number; presence?: boolean }) {
  const client = useClient();
  const t = useText();
  const u = client.user(user);
  const online = presence && client.connection === "online" && client.presence(user)?.online === true;
  return (
    <>
      <Avatar id={user} name={u?.displayName ?? ""} url={u?.avatarUrl} size={size} dot={online} />
      {online && <span className="sr-only">{t("online")}</span>}
    </>
  );
}
