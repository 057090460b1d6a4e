import { useEffect, useSyncExternalStore } from "react";
import { videoUploads } from "../client.js";
import type { VideoUpload } from "../videoUploads.js";

/** The video files on their way. */
export function useVideoUploads(): readonly VideoUpload[] {
  return useSyncExternalStore(videoUploads.subscribe, videoUploads.all);
}

/** The video files on their way for a place with several. One that has become a video is on its way no longer. */
export function useVideoUploadsOf(slot: string): readonly VideoUpload[] {
  const list = useVideoUploads().filter((u) => u.slot === slot);
  useEffect(() => {
    for (const u of list) if (u.video !== undefined) videoUploads.remove(u.id);
  });
  return list.filter((u) => u.video === undefined);
}

/** The video file that is on its way for a draft. Once it is a video, onVideo gets that, and it is on its way no longer. */
export function useVideoUploadOf(slot: string, onVideo: (video: string, name: string) => void): VideoUpload | undefined {
  const upload = useVideoUploads().find((u) => u.slot === slot);
  const video = upload?.video;
  useEffect(() => {
    if (!upload || video === undefined) return;
    videoUploads.remove(upload.id);
    onVideo(video, upload.name);
  }, [video]);
  return video === undefined ? upload : undefined;
}
