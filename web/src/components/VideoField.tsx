import type { VideoPoster } from "@rialto-im/client";
import { useVideo } from "@rialto-im/client/react";
import { useState } from "react";
import { useClient, videoUploads } from "../client.js";
import { errorText } from "../errors.js";
import { useFileUrl } from "../fileUrl.js";
import { length } from "../format.js";
import { useText } from "../i18n.js";
import type { PostDraft, PostImage } from "../postDraft.js";
import { IconButton } from "../ui/IconButton.js";
import { FileImage } from "./FileImage.js";
import { CloseIcon } from "./icons.js";
import { useVideoUploadOf, useVideoUploads } from "./useVideoUploads.js";
import "./video.css";
import { UploadingVideo, VideoFile } from "./VideoFile.js";
import { VideoStatus } from "./VideoStatus.js";
import { VideoView } from "./VideoView.js";

type Change = (next: (d: PostDraft) => PostDraft) => void;

interface Props {
  /** The draft's place, for which a file is on its way. */
  slot: string;
  draft: PostDraft;
  change: Change;
  onCover: (file: File, put: (d: PostDraft, image: PostImage) => PostDraft) => void;
  onError: (text: string) => void;
}

/** The video of a post that is being written: a file is chosen, goes its way, and is processed while one writes on. */
export function VideoField({ slot, draft, change, onCover, onError }: Props) {
  const t = useText();
  const upload = useVideoUploadOf(slot, (id, name) => change((d) => ({ ...d, video: { id, name } })));
  return (
    <div className="post-form-video" role="group" aria-label={t("video")}>
      {draft.video ? (
        <ChosenVideo id={draft.video.id} name={draft.video.name} onRemove={() => change(({ video: _, ...d }) => d)} onCover={onCover} onError={onError} />
      ) : upload ? (
        <UploadingVideo upload={upload} />
      ) : (
        <VideoFile label={t("addVideo")} onFiles={([file]) => videoUploads.start(slot, file)} />
      )}
    </div>
  );
}

/** Whether a video file is on its way for a draft. */
export function useIsUploadingVideo(slot: string): boolean {
  return useVideoUploads().some((u) => u.slot === slot);
}

function ChosenVideo({ id, name, onRemove, onCover, onError }: { id: string; name: string; onRemove: () => void } & Pick<Props, "onCover" | "onError">) {
  const t = useText();
  const { video, error } = useVideo(id);
  return (
    <>
      <div className="video-chosen">
        {video ? <VideoView video={video} post="0" title={name || video.name || t("videoWithoutName")} /> : <p role="status">{error ? (error.reason === "no_video" ? t("videoGone") : errorText(error)) : t("loading")}</p>}
        <IconButton label={t("removeVideo")} onClick={onRemove}><CloseIcon /></IconButton>
      </div>
      {video && <VideoStatus video={video} />}
      {video && video.posters.length > 0 && <Frames posters={video.posters} onCover={onCover} onError={onError} />}
    </>
  );
}

/** The frames of a video that can be the post's cover. */
function Frames({ posters, onCover, onError }: { posters: readonly VideoPoster[] } & Pick<Props, "onCover" | "onError">) {
  const client = useClient();
  const t = useText();
  const [chosen, setChosen] = useState<number>();
  const choose = async ({ url, timeMs }: VideoPoster) => {
    try {
      const frame = await client.readFile(url);
      setChosen(timeMs);
      onCover(new File([frame], "cover.jpg", { type: "image/jpeg" }), (d, image) => ({ ...d, cover: image }));
    } catch {
      onError(t("errOffline"));
    }
  };
  return (
    <div className="video-frames" role="group" aria-label={t("coverFrames")}>
      {posters.map((p) => (
        <button key={p.timeMs} type="button" aria-pressed={chosen === p.timeMs} aria-label={t("useFrame", { at: length(p.timeMs) })} onClick={() => void choose(p)}>
          <Frame url={p.url} />
        </button>
      ))}
    </div>
  );
}

function Frame({ url }: { url: string }) {
  return <FileImage of={useFileUrl(url)} alt="" loading="lazy" />;
}
