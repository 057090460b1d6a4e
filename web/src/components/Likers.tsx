import type { Comment, Liker, Post } from "@rialto-im/client";
import { useState } from "react";
import { Link } from "wouter";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { path } from "../routes.js";
import { usePages } from "../usePages.js";
import { Dialog } from "../ui/Dialog.js";
import { UserAvatar } from "./Avatar.js";
import "./people.css";

/** How many like something. Pressed, it says who. */
export function LikersButton({ of }: { of: Post | Comment }) {
  const t = useText();
  const [open, setOpen] = useState(false);
  if (of.likes === 0) return null;
  return (
    <>
      <button type="button" className="link" onClick={() => setOpen(true)} data-testid="likers">{t("likeCount", { n: of.likes })}</button>
      {open && <Likers of={of} onClose={() => setOpen(false)} />}
    </>
  );
}

/** Who likes something, the latest first. */
function Likers({ of, onClose }: { of: Post | Comment; onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const { list, more } = usePages<Liker>(run, of.id, of.likes, async (page) => {
    const { likers, next } = await client.likers(of, page);
    return { items: likers, next };
  });
  return (
    <Dialog title={t("likers")} onClose={onClose}>
      {error && <p className="error" role="alert">{error}</p>}
      {!list && !error && <p role="status">{t("loading")}</p>}
      {list?.length === 0 && !more && <p className="empty" role="status">{t("nobodyYet")}</p>}
      <ul className="members">
        {list?.map(({ user }) => <li key={user}><Link href={path.posts(user)} className="person" onClick={onClose}><UserAvatar user={user} size={32} /><bdi className="name">{nameOf(client, user)}</bdi></Link></li>)}
      </ul>
      {more && <button type="button" onClick={more}>{t("showMore")}</button>}
    </Dialog>
  );
}
