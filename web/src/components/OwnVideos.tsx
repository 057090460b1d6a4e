import { isProcessing, VideoState, type Video } from "@rialto-im/client";
import { useOwnVideos, useVideo } from "@rialto-im/client/react";
import { useState } from "react";
import { useAction } from "../action.js";
import { client, videoUploads } from "../client.js";
import { ago, length } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { useNow } from "../now.js";
import { Menu, MenuItem } from "../ui/Menu.js";
import { PostDialog } from "./PostDialog.js";
import { UnfinishedUploads } from "./UnfinishedUploads.js";
import { useVideoUploadsOf } from "./useVideoUploads.js";
import "./video.css";
import { UploadingVideo, VideoFile } from "./VideoFile.js";
import { VideosEnd } from "./VideosEnd.js";
import { VideoStatus } from "./VideoStatus.js";
import { VideoSubtitlesEditor } from "./VideoSubtitlesEditor.js";
import { VideoView } from "./VideoView.js";

/** The draft's place of videos that are uploaded for no post yet. */
const slot = "videos";

/** One's own videos, the newest first: what is on its way, or was interrupted, what is processed, and what can be posted. */
export function OwnVideos() {
  const t = useText();
  const list = useOwnVideos();
  const uploads = useVideoUploadsOf(slot);
  const [posting, setPosting] = useState<Video>();
  return (
    <div className="own-videos">
      <div className="feed-windows">
        <VideoFile label={t("uploadVideos")} multiple onFiles={(files) => files.forEach((file) => videoUploads.add(slot, file))} />
        {uploads.map((u) => <UploadingVideo key={u.id} upload={u} />)}
        <UnfinishedUploads onContinue={(file, upload) => videoUploads.add(slot, file, upload)} />
      </div>
      <ul aria-label={t("myVideos")}>
        {list.videos.map((v) => <li key={v.id}><OwnVideo listed={v} onPost={setPosting} /></li>)}
      </ul>
      <VideosEnd of={list} end={list.videos.length === 0 ? "noVideos" : "allVideos"} />
      {posting && <PostDialog of={{ kind: "new", video: { id: posting.id, name: posting.name } }} onClose={() => setPosting(undefined)} />}
    </div>
  );
}

function OwnVideo({ listed, onPost }: { listed: Video; onPost: (video: Video) => void }) {
  const t = useText();
  const now = useNow();
  const { run, error } = useAction();
  // The list has no steps, no subtitles and no addresses for playing.
  const [wanted, setWanted] = useState(isProcessing(listed));
  const [editing, setEditing] = useState(false);
  const read = useVideo(wanted ? listed.id : "0");
  const video = read.video ?? listed;
  const name = video.name || t("videoWithoutName");
  const createdMs = Number(video.createdMs);
  return (
    <article className="own-video" aria-label={name} data-testid="own-video">
      <header>
        <span>
          <b><bdi>{name}</bdi></b>
          <small>{ago(createdMs, getLocale(), t, now)}{video.durationMs > 0 && ` · ${length(video.durationMs)}`}{video.state === VideoState.READY && ` · ${t("videoReady")}`}</small>
        </span>
        <Menu label={t("videoOptions", { name })}>
          {video.state !== VideoState.FAILED && <MenuItem label={t("subtitles")} onSelect={() => (setWanted(true), setEditing(true))} />}
          <MenuItem label={t("deleteVideo")} sure={t("sureDeleteVideo")} onSelect={() => void run(() => client.deleteVideo(video.id))} />
        </Menu>
      </header>
      {(video.state === VideoState.READY || video.posters.length > 0) && <VideoView video={video} post="0" title={name} load={video.state === VideoState.READY ? () => setWanted(true) : undefined} />}
      <VideoStatus video={video} />
      {(video.state === VideoState.READY || isProcessing(video)) && <button type="button" onClick={() => onPost(video)}>{t("postVideo")}</button>}
      {error && <p className="error" role="alert">{error}</p>}
      {editing && <VideoSubtitlesEditor id={listed.id} read={read} name={name} onClose={() => setEditing(false)} />}
    </article>
  );
}
