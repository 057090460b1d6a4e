import type { AboutFile } from "@rialto-im/client";
import { afterEnd } from "./player/afterEnd.js";

const mostPixels = 1_280;
const mostMs = 10_000;

/** The first frame of a video, as a picture, with the video's length; nothing where the browser cannot decode it. */
export async function posterOf(file: Blob): Promise<AboutFile> {
  const url = URL.createObjectURL(file);
  const video = document.createElement("video");
  try {
    video.muted = true;
    video.preload = "auto";
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error("the video does not decode")), mostMs);
      video.onloadeddata = () => (clearTimeout(timer), resolve());
      video.onerror = () => (clearTimeout(timer), reject(new Error("the video does not decode")));
      video.src = url;
    });
    const scale = Math.min(1, mostPixels / Math.max(video.videoWidth, video.videoHeight));
    const canvas = document.createElement("canvas");
    canvas.width = Math.max(1, Math.round(video.videoWidth * scale));
    canvas.height = Math.max(1, Math.round(video.videoHeight * scale));
    canvas.getContext("2d")?.drawImage(video, 0, 0, canvas.width, canvas.height);
    const frame = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, "image/jpeg", 0.8));
    const durationMs = await lengthOf(video);
    return frame ? { durationMs, poster: { file: frame, width: video.videoWidth, height: video.videoHeight } } : { durationMs };
  } catch {
    return {}; // it is sent without a poster
  } finally {
    video.removeAttribute("src");
    URL.revokeObjectURL(url);
  }
}

/** A recording of a browser does not say how long it is: then its end is looked for. 0: it was not found. */
async function lengthOf(video: HTMLVideoElement): Promise<number> {
  if (!Number.isFinite(video.duration)) {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, mostMs);
      video.onseeked = video.onerror = () => (clearTimeout(timer), resolve());
      video.currentTime = afterEnd;
    });
  }
  return Number.isFinite(video.duration) ? video.duration * 1_000 : 0;
}
