import type { Video } from "@rialto-im/client";
import { lazy, Suspense, useMemo, useState } from "react";
import { useClient } from "../client.js";
import type { Download } from "../download.js";
import { useFileUrl } from "../fileUrl.js";
import { resumeAt } from "../player/resume.js";
import type { PlayerSource } from "../player/source.js";
import { shapeOf, VideoPoster } from "./VideoPoster.js";

const Player = lazy(() => import("../player/Player.js"));

interface Props {
  video: Video;
  /** The post that shows it; "0": it is one's own. */
  post: string;
  title: string;
  /** A picture in place of the video's first frame. */
  cover?: Download | undefined;
  /** Reads its addresses, where the list that it is from has none. */
  load?: (() => void) | undefined;
}

/** So long playback waits at most for where the user was on another device. */
const mostWaitMs = 1_500;

/** A video in place: a picture of it, which plays when it is pressed. */
export function VideoView({ video, post, title, cover, load }: Props) {
  const client = useClient();
  const [playing, setPlaying] = useState(false);
  const [asked, setAsked] = useState(false);
  const { id, playback, renditions, durationMs, storyboard, subtitles, positionMs, width, height } = video;
  const source = useMemo<PlayerSource | undefined>(
    () => playback && { kind: "hls", url: client.currentUrl(playback.hlsUrl), complete: playback.complete, renditions, renew: () => void client.refreshVideo(id, post), request: (rendition) => client.requestRendition(id, post, rendition), replace: (url, tried) => client.replaceUrl(url, tried) },
    [client, playback, renditions, id, post],
  );
  const frame = useFileUrl(video.posters[0]?.url ?? "");
  const poster = cover?.url ? cover : frame;
  const style = shapeOf(width, height);
  const play = async () => {
    setAsked(true);
    load?.();
    await Promise.race([client.refreshVideo(id, post), new Promise((done) => setTimeout(done, mostWaitMs))]);
    setPlaying(true);
  };
  const picture = <VideoPoster of={poster} durationMs={durationMs} style={style} positionMs={positionMs} onPlay={(source || load) && !asked ? () => void play() : undefined} onError={cover?.url ? cover.renew : undefined} />;
  const startAt = useStart(playing && source !== undefined, resumeAt(positionMs, durationMs));
  if (!source || !playing) return picture;
  return (
    <Suspense fallback={picture}>
      <Player key={`${post} ${id}`} source={source} title={title} poster={poster.url || undefined} durationMs={durationMs} storyboard={storyboard} subtitles={subtitles} startAt={startAt} onPosition={(seconds, isLeft) => client.watchedTo(id, post, seconds * 1_000, isLeft)} comments={post === "0" ? undefined : { post, video: id, isOwner: video.owner === client.me }} style={style} autoPlay />
    </Suspense>
  );
}

/** Where playback begins: as it is known when it begins, and not where it comes to later. */
function useStart(playing: boolean, at: number): number {
  const [start, setStart] = useState<number>();
  if (playing && start === undefined) setStart(at);
  return start ?? at;
}
