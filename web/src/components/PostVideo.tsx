import type { Post } from "@rialto-im/client";
import { useVideo } from "@rialto-im/client/react";
import { useClient } from "../client.js";
import { useDownload } from "../download.js";
import { errorText } from "../errors.js";
import { useText } from "../i18n.js";
import { VideoPoster } from "./VideoPoster.js";
import { VideoStatus } from "./VideoStatus.js";
import { VideoView } from "./VideoView.js";
import "./video.css";

/** The video of a post, which plays in place. The post's cover stands for it until then. */
export function PostVideo({ post }: { post: Post }) {
  const client = useClient();
  const t = useText();
  const c = post.content;
  const { video, error } = useVideo(c?.video ?? "0", post.id);
  const cover = useDownload({ post: post.id }, c?.cover?.upload ?? "0");
  if (!video) {
    const text = error === undefined ? t("loading") : error.reason === "no_video" || error.reason === "no_post" ? t("videoGone") : errorText(error);
    return (
      <div className="post-video" data-testid="post-video">
        <VideoPoster of={cover} durationMs={0} onPlay={undefined} />
        <p role="status">{text} {error !== undefined && <button type="button" className="link" onClick={() => void client.refreshVideo(c?.video ?? "0", post.id)}>{t("retry")}</button>}</p>
      </div>
    );
  }
  return (
    <div className="post-video" data-testid="post-video">
      <VideoView video={video} post={post.id} title={c?.title || t("videoWithoutName")} cover={cover} />
      <VideoStatus video={video} />
    </div>
  );
}
