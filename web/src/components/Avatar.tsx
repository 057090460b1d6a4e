import type { ConversationView, PresenceStatus } from "@rialto-im/client";
import { usePresence, useUser } from "@rialto-im/client/react";
import { useEffect, useState } from "react";
import { useClient } from "../client.js";
import { useFileUrl } from "../fileUrl.js";
import { useText } from "../i18n.js";
import { picturesOf } from "../pictures.js";
import { FileImage } from "./FileImage.js";

const hues = [168, 205, 250, 290, 330, 12, 38, 95];

/** The hue of a user's or a group's colour. */
export function hueOf(id: string): number {
  return hues[Number((BigInt(id || "0") >> 22n) % BigInt(hues.length))] ?? 0; // the bits below count within a millisecond
}

/** A picture, or the first letter of the name on a colour that belongs to the id. */
export function Avatar({ id, name, url, size = 40, dot, onGone }: { id: string; name: string; url?: string | undefined; size?: number; dot?: PresenceStatus | undefined; onGone?: (url: string) => void }) {
  const client = useClient();
  const [gone, setGone] = useState<string>(); // the URL of a picture that was replaced: the new one's is asked for
  const file = useFileUrl(url ?? "");
  const failed = async () => {
    if (url === undefined || (await file.checkEdge())) return;
    setGone(url);
    if (onGone) onGone(url);
    else client.refreshUser(id);
  };
  const letter = [...(name || "?")][0]!.toUpperCase();
  return (
    <span className="avatar" style={{ width: size, height: size, fontSize: size * 0.42, ["--hue" as string]: hueOf(id) }} aria-hidden="true" data-user={id}>
      {url && url !== gone ? <FileImage of={file} alt="" width={size} height={size} onError={() => void failed()} /> : letter}
      {dot && dot !== "offline" && <span className={`dot ${dot}`} />}
    </span>
  );
}

/** A user's picture, with a dot while they are online, whose shape and colour say how. */
export function UserAvatar({ user, size = 40, presence = false }: { user: string; size?: number; presence?: boolean }) {
  const t = useText();
  const u = useUser(user);
  const seen = usePresence(user);
  const status = presence && seen?.online ? seen.status : undefined;
  return (
    <>
      <Avatar id={user} name={u?.displayName ?? ""} url={u?.avatarUrl} size={size} dot={status} />
      {status && status !== "offline" && <span className="sr-only">{t(status)}</span>}
    </>
  );
}

/** A group's picture, or the first letter of its title. */
export function GroupAvatar({ c, size = 40 }: { c: Pick<ConversationView, "id" | "avatar" | "title">; size?: number }) {
  const client = useClient();
  const [url, setUrl] = useState<string>();
  const [asks, setAsks] = useState(0);
  const { id, avatar } = c;
  const online = client.connection === "online";
  useEffect(() => {
    if (!avatar || avatar === "0") {
      setUrl(undefined);
      return;
    }
    let stale = false;
    picturesOf(client).url(id, avatar).then((u) => !stale && setUrl(u), () => !stale && setUrl(undefined)); // the letter is shown in its place
    return () => {
      stale = true;
    };
  }, [client, id, avatar, asks, online]);
  const gone = (old: string) => {
    picturesOf(client).forget(id, avatar, old);
    setAsks(asks + 1);
  };
  return <Avatar id={id} name={c.title} url={url} size={size} onGone={gone} />;
}
