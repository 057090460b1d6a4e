import type { WatchedVideo } from "@rialto-im/client";
import { useVideo, useWatchedVideos } from "@rialto-im/client/react";
import { useState } from "react";
import { Link } from "wouter";
import { useAction } from "../action.js";
import { client } from "../client.js";
import { errorText } from "../errors.js";
import { ago, excerpt, length } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { useNow } from "../now.js";
import { resumeAt } from "../player/resume.js";
import { path } from "../routes.js";
import { Confirm } from "../ui/Confirm.js";
import { IconButton } from "../ui/IconButton.js";
import { CloseIcon } from "./icons.js";
import "./video.css";
import { VideosEnd } from "./VideosEnd.js";
import { VideoView } from "./VideoView.js";

/** The videos that one has watched, on any device, the last one first. Each plays on from where one was. */
export function WatchedVideos() {
  const t = useText();
  const list = useWatchedVideos();
  const { watched } = list;
  const { run, error: failed } = useAction();
  return (
    <div className="own-videos">
      {failed && <p className="error" role="alert">{failed}</p>}
      {watched.length > 0 && <div className="feed-windows"><Confirm label={t("clearWatched")} question={t("sureClearWatched")} onYes={() => void run(() => client.clearWatched())} /></div>}
      <ul aria-label={t("watchedVideos")}>
        {watched.map((w) => w.video && <li key={w.video.id}><Watched of={w} /></li>)}
      </ul>
      <VideosEnd of={list} end={watched.length === 0 ? "noWatched" : "allWatched"} />
    </div>
  );
}

function Watched({ of: { video: listed, post } }: { of: WatchedVideo }) {
  const t = useText();
  const now = useNow();
  const { run, error } = useAction();
  const [wanted, setWanted] = useState(false); // the list has no addresses for playing
  const scope = post?.id ?? "0";
  const read = useVideo(wanted ? (listed?.id ?? "0") : "0", scope);
  if (!listed) return null;
  const video = read.video ?? listed;
  const name = post?.content?.title || excerpt(post?.content?.text ?? "") || video.name || t("videoWithoutName");
  const at = resumeAt(video.positionMs, video.durationMs);
  const how = at > 0 ? t("watchedAt", { at: length(at * 1_000), of: length(video.durationMs) }) : video.positionMs * 2 > video.durationMs ? t("watchedToEnd") : "";
  return (
    <article className="own-video" aria-label={name} data-testid="watched-video">
      <header>
        <span>
          <b className="one-line"><bdi>{post ? <Link href={path.post(post.id)} title={t("toPost")}>{name}</Link> : name}</bdi></b>
          <small>{post && `${nameOf(client, post.author)} · `}{ago(Number(listed.watchedMs), getLocale(), t, now)}{how && ` · ${how}`}</small>
        </span>
        <IconButton label={t("removeWatched", { name })} onClick={() => void run(() => client.removeWatched(video.id))}><CloseIcon /></IconButton>
      </header>
      <VideoView video={video} post={scope} title={name} load={() => setWanted(true)} />
      {(error || read.error) && <p className="error" role="alert">{error || errorText(read.error)}</p>}
    </article>
  );
}
