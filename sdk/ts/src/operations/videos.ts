import type { Video, WatchedVideo } from "../gen/rialto/video/v1/video_pb.js";
import { PageList } from "../pagedList.js";
import { resend } from "../resend.js";
import { ObservedVideos, withAddresses, type VideoView } from "../videos.js";
import { WatchPositions } from "../watchPositions.js";
import type { Context } from "./context.js";

/** The lists of a kind that are still used. */
class WeakLists<T> {
  private readonly refs = new Set<WeakRef<PageList<T>>>();

  add(list: PageList<T>): PageList<T> {
    this.refs.add(new WeakRef(list));
    return list;
  }

  each(what: (list: PageList<T>) => void): void {
    for (const ref of this.refs) {
      const list = ref.deref();
      if (list) what(list);
      else this.refs.delete(ref);
    }
  }
}

/** Videos that users upload and posts show. Addresses in them need no credentials, and expire. */
export function videos(client: Context) {
  const { videoApi } = client.services;
  const onChange = () => client.snapshots.touch();
  const placed = (v: Video): Video => {
    const positionMs = positions.of(v.id) ?? v.positionMs; // the server may not have it yet
    return { ...withAddresses(v, (address) => client.edges.place(address)), positionMs };
  };
  const positions = new WatchPositions({
    send: (p, ageMs) => videoApi.setWatchPosition({ ...p, ageMs }, { keepalive: true }),
    user: () => client.me(),
    now: () => client.options.now(),
    random: () => client.options.random(),
  });
  const observed = new ObservedVideos({
    read: async (video, post) => {
      const [read] = await Promise.all([videoApi.getVideo({ video, post }), client.edges.ready()]);
      return placed(read);
    },
    now: () => client.options.now(),
    random: () => client.options.random(),
    onChange,
  });
  let knownTo = "";
  const ofUser = (): ObservedVideos => {
    if (knownTo !== client.me()) observed.forget();
    knownTo = client.me();
    return observed;
  };
  const lists = new WeakLists<Video>();
  const took = (video: Video): Video => {
    ofUser().took(video);
    lists.each((list) => list.update((v) => (v.id === video.id ? video : v)));
    return video;
  };
  return {
    /** Makes a video from an upload of one's own. The server begins to process it. A retry returns the same video. */
    async createVideo(upload: string): Promise<Video> {
      const video = took(placed(await resend(client, () => videoApi.createVideo({ upload }))));
      lists.each((list) => void list.refresh().catch(() => {})); // the next read has it
      return video;
    },

    /** Deletes one's own video. Posts that name it show none. */
    async deleteVideo(video: string): Promise<void> {
      await resend(client, () => videoApi.deleteVideo({ video }));
      ofUser().removed(video);
      lists.each((list) => list.remove(video));
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
      return lists.add(new PageList<Video>({ read, idOf: (v) => v.id, onChange }));
    },

    ...watching(client, ofUser),
    ...history(client, positions, placed, (video, positionMs) => ofUser().moved(video, positionMs)),
    ...subtitles(client, took, placed),
  };
}

/** What the user has watched, and how far, on any device. */
function history(client: Context, positions: WatchPositions, placed: (v: Video) => Video, moved: (video: string, positionMs: number) => void) {
  const { videoApi } = client.services;
  const lists = new WeakLists<WatchedVideo>();
  return {
    /**
     * The user is at a position of a video. Call it every few seconds during playback, and with atOnce where it pauses or is left: positions are sent every ten
     * seconds otherwise. `video` has it at once.
     */
    watchedTo(video: string, post: string, positionMs: number, atOnce = false): void {
      if (client.me() === "") return;
      positions.reached({ video, post, positionMs: Math.round(positionMs) }, atOnce);
      moved(video, Math.round(positionMs));
    },

    /** The videos that the user has watched, the last one first. */
    watchedVideos(): PageList<WatchedVideo> {
      const read = async (page: string) => {
        const { videos, next } = await videoApi.listWatched({ page });
        return { items: videos.map((w) => ({ ...w, video: w.video && placed(w.video) })), next };
      };
      return lists.add(new PageList<WatchedVideo>({ read, idOf: (w) => w.video?.id ?? "", onChange: () => client.snapshots.touch() }));
    },

    /** Removes a video from the history. It begins at its beginning again. */
    async removeWatched(video: string): Promise<void> {
      await positions.forget(video);
      await resend(client, () => videoApi.removeWatched({ video }));
      moved(video, 0);
      lists.each((list) => list.remove(video));
    },

    /** Removes all videos from the history. */
    async clearWatched(): Promise<void> {
      await positions.forget();
      await resend(client, () => videoApi.clearWatched({}));
      lists.each((list) => {
        for (const w of list.items) {
          if (w.video) moved(w.video.id, 0);
        }
        void list.refresh().catch(() => {}); // the next read has it
      });
    },
  };
}

/** What is said in a video, in several languages. */
function subtitles(client: Context, took: (v: Video) => Video, placed: (v: Video) => Video) {
  const { videoApi } = client.services;
  return {
    /** Adds subtitles in a language to one's own video, or replaces them. The file is WebVTT or SRT. A retry is harmless. */
    async setSubtitles(video: string, s: { language: string; label?: string; isDefault?: boolean; file: string }): Promise<Video> {
      return took(placed(await resend(client, () => videoApi.setSubtitles({ video, language: s.language, label: s.label ?? "", default: s.isDefault ?? false, file: s.file }))));
    },

    /** Removes the subtitles in a language from one's own video. */
    async removeSubtitles(video: string, language: string): Promise<Video> {
      return took(placed(await resend(client, () => videoApi.removeSubtitles({ video, language }))));
    },
  };
}

/** Videos that are shown: one's own, or with a post those that it shows. */
function watching(client: Context, observed: () => ObservedVideos) {
  const { videoApi } = client.services;
  return {
    /** What is known of a video that is watched, or was read. */
    video(video: string, post = "0"): VideoView {
      return observed().view(video, post);
    },

    /** Reads a video, and again while it is processed and before its addresses expire. Call what is returned to end it. */
    watchVideo(video: string, post = "0"): () => void {
      return observed().watch(video, post);
    },

    /** Reads a video now, as when its addresses have stopped to work. It never fails: `video` has the error. */
    refreshVideo(video: string, post = "0"): Promise<void> {
      return observed().refresh(video, post);
    },

    /**
     * Asks for a rendition that is `onDemand`, of a video that a post shows, or with "0" of one's own. While the video is watched it is read until the rendition is complete.
     */
    async requestRendition(video: string, post: string, rendition: string): Promise<void> {
      await resend(client, () => videoApi.requestRendition({ video, post, rendition }));
      await observed().refresh(video, post);
    },
  };
}
