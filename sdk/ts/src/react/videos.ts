import { useCallback, useEffect, useMemo, useState } from "react";
import type { Video, WatchedVideo } from "../gen/rialto/video/v1/video_pb.js";
import type { PageList } from "../pagedList.js";
import type { VideoView } from "../videos.js";
import { useOwner, useRialto, useSnapshot } from "./context.js";
import { useOnline } from "./hooks.js";

/** A video of one's own, or one that a post shows, with its processing live, and addresses that work. "0" is none. */
export function useVideo(video: string, post = "0"): VideoView {
  const client = useRialto();
  const owner = useOwner();
  useEffect(() => (video === "0" ? undefined : client.watchVideo(video, post)), [client, owner, video, post]);
  return useSnapshot((c) => c.video(video, post));
}

export interface OwnVideos {
  readonly videos: readonly Video[];
  /** The first page is not there yet. */
  readonly loading: boolean;
  /** Why videos could not be read. */
  readonly error: unknown;
  readonly hasMore: boolean;
  /** Reads the next page. */
  readonly loadMore: () => Promise<void>;
}

/** The user's videos, the newest first, with those that are made and deleted here. */
export function useOwnVideos(): OwnVideos {
  const client = useRialto();
  const owner = useOwner();
  const { items: videos, ...rest } = useList(useMemo(() => client.ownVideos(), [client, owner]));
  return { videos, ...rest };
}

export interface WatchedVideosList extends Omit<OwnVideos, "videos"> {
  readonly watched: readonly WatchedVideo[];
}

/** The videos that the user has watched on any device, the last one first. */
export function useWatchedVideos(): WatchedVideosList {
  const client = useRialto();
  const owner = useOwner();
  const { items: watched, ...rest } = useList(useMemo(() => client.watchedVideos(), [client, owner]));
  return { watched, ...rest };
}

/** A list with what reads it. */
function useList<T>(list: PageList<T>) {
  const online = useOnline();
  const [failed, setFailed] = useState<{ list: typeof list; error: unknown }>();
  const run = useCallback((work: Promise<void>) => work.then(() => setFailed(undefined), (error: unknown) => setFailed({ list, error })), [list]);
  useEffect(() => {
    if (online) void run(list.refresh());
  }, [list, online, run]);
  const loadMore = useCallback(() => run(list.more()), [list, run]);
  const items = useSnapshot(() => list.items);
  const hasMore = useSnapshot(() => list.hasMore);
  const loaded = useSnapshot(() => list.loaded);
  const error = failed?.list === list ? failed.error : undefined;
  return { items, loading: !loaded && error === undefined, error, hasMore, loadMore };
}
