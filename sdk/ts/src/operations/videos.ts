import type { Video } from "../gen/rialto/video/v1/video_pb.js";
import { PageList } from "../pagedList.js";
import { resend } from "../resend.js";
import { WatchedVideos, withAddresses, type VideoView } from "../videos.js";
import type { Context } from "./context.js";

/** Videos that users upload and posts show. Addresses in them need no credentials, and expire. */
export function videos(client: Context) {
  const { videoApi } = client.services;
  const onChange = () => client.snapshots.touch();
  const placed = (v: Video): Video => withAddresses(v, client.options.url);
  const watched = new WatchedVideos({
    read: async (video, post) => placed(await videoApi.getVideo({ video, post })),
    now: () => client.options.now(),
    random: () => client.options.random(),
    onChange,
  });
  let knownTo = "";
  const ofUser = (): WatchedVideos => {
    if (knownTo !== client.me()) watched.forget();
    knownTo = client.me();
    return watched;
  };
  const lists = new Set<WeakRef<PageList<Video>>>();
  /** The lists that are still used. */
  const each = (what: (list: PageList<Video>) => void) => {
    for (const ref of lists) {
      const list = ref.deref();
      if (list) what(list);
      else lists.delete(ref);
    }
  };
  const took = (video: Video): Video => {
    ofUser().took(video);
    each((list) => list.update((v) => (v.id === video.id ? video : v)));
    return video;
  };
  return {
    /** Makes a video from an upload of one's own. The server begins to process it. A retry returns the same video. */
    async createVideo(upload: string): Promise<Video> {
      const video = took(placed(await resend(client, () => videoApi.createVideo({ upload }))));
      each((list) => void list.refresh().catch(() => {})); // the next read has it
      return video;
    },

    /** Deletes one's own video. Posts that name it show none. */
    async deleteVideo(video: string): Promise<void> {
      await resend(client, () => videoApi.deleteVideo({ video }));
      ofUser().removed(video);
      each((list) => list.remove(video));
    },

    /** Processes a failed video of one's own again. */
    async retryVideo(video: string): Promise<Video> {
      return took(placed(await videoApi.retryVideo({ video })));
    },

    /** The user's videos, the newest first, without steps and addresses for playing: watch one to get them. */
    ownVideos(): PageList<Video> {
      const read = async (page: string) => {
        const { videos: items, next } = await videoApi.listVideos({ before: page || "0" });
        return { items: items.map(placed), next: next === "0" ? "" : next };
      };
      const list = new PageList<Video>({ read, idOf: (v) => v.id, onChange });
      lists.add(new WeakRef(list));
      return list;
    },

    ...watching(ofUser),
  };
}

/** Videos that are shown: one's own, or with a post those that it shows. */
function watching(watched: () => WatchedVideos) {
  return {
    /** What is known of a video that is watched, or was read. */
    video(video: string, post = "0"): VideoView {
      return watched().view(video, post);
    },

    /** Reads a video, and again while it is processed and before its addresses expire. Call what is returned to end it. */
    watchVideo(video: string, post = "0"): () => void {
      return watched().watch(video, post);
    },

    /** Reads a video now, as when its addresses have stopped to work. It never fails: `video` has the error. */
    refreshVideo(video: string, post = "0"): Promise<void> {
      return watched().refresh(video, post);
    },
  };
}
