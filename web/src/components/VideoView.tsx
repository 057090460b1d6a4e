import type { Video } from "@rialto-im/client";
import { lazy, Suspense, useMemo, useState } from "react";
import { useClient } from "../client.js";
import type { PlayerSource } from "../player/source.js";
import { shapeOf, VideoPoster } from "./VideoPoster.js";

const Player = lazy(() => import("../player/Player.js"));

interface Props {
  video: Video;
  /** The post that shows it; "0": it is one's own. */
  post: string;
  title: string;
  /** A picture in place of the video's first frame. */
  cover?: string | undefined;
  onCoverError?: (() => void) | undefined;
  /** Reads its addresses, where the list that it is from has none. */
  load?: (() => void) | undefined;
}

/** A video in place: a picture of it, which plays when it is pressed. */
export function VideoView({ video, post, title, cover, onCoverError, load }: Props) {
  const client = useClient();
  const [playing, setPlaying] = useState(false);
  const { id, playback, renditions, durationMs, storyboard, width, height } = video;
  const source = useMemo<PlayerSource | undefined>(
    () => playback && { kind: "hls", url: playback.hlsUrl, complete: playback.complete, renditions, renew: () => void client.refreshVideo(id, post) },
    [client, playback, renditions, id, post],
  );
  const poster = cover || (video.posters[0]?.url ?? "");
  const style = shapeOf(width, height);
  const play = () => {
    load?.();
    setPlaying(true);
  };
  const picture = <VideoPoster url={poster} durationMs={durationMs} style={style} onPlay={(source || load) && !playing ? play : undefined} {...(onCoverError ? { onError: onCoverError } : {})} />;
  if (!source || !playing) return picture;
  return (
    <Suspense fallback={picture}>
      <Player source={source} title={title} poster={poster || undefined} durationMs={durationMs} storyboard={storyboard} remember={id} style={style} autoPlay />
    </Suspense>
  );
}
