import { usePost } from "@rialto-im/client/react";
import { useEffect } from "react";
import { useClient } from "../client.js";
import { errorText } from "../errors.js";
import { useText } from "../i18n.js";
import { goUp } from "../routes.js";
import { IconButton } from "../ui/IconButton.js";
import "./feed.css";
import { BackIcon } from "./icons.js";
import { PostCard } from "./PostCard.js";
import { PostComments } from "./PostComments.js";

/** One post, with all of its text and images, and its comments. */
export function PostPage({ id }: { id: string }) {
  const t = useText();
  const client = useClient();
  const { post, error, deleted } = usePost(id);
  useEffect(() => client.postOpened(id), [client, id]);
  return (
    <main className="chat" aria-label={t("post")}>
      <header className="chat-head">
        <IconButton label={t("back")} className="back" onClick={goUp}><BackIcon /></IconButton>
        <div className="chat-title"><h2>{t("post")}</h2></div>
      </header>
      {post ? <PostComments post={post} head={<PostCard post={post} alone onDeleted={goUp} />} /> : <div className="post-page"><p className="empty" role="status">{deleted ? t("postGone") : error === undefined ? t("loading") : errorText(error)}</p></div>}
    </main>
  );
}
