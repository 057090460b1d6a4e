import { useEffect, useRef, type ComponentProps } from "react";
import type { Download } from "../download.js";

/** A video with the browser's controls. Where its URL has expired, or its edge does not answer, it goes on with a new one from where it was. */
export function VideoPlayer({ of: { url, renew, checkEdge }, ...props }: { of: Download } & Omit<ComponentProps<"video">, "ref" | "src">) {
  const video = useRef<HTMLVideoElement>(null);
  const left = useRef<{ at: number; playing: boolean }>(undefined);
  const leaves = (el: HTMLVideoElement) => void (left.current = { at: el.currentTime, playing: !el.paused });
  useEffect(() => {
    if (left.current?.playing) void video.current?.play().catch(() => {}); // the browser may want a click
  }, [url]);
  return (
    <video
      {...props}
      ref={video}
      src={url}
      controls
      onError={({ currentTarget: el }) => {
        leaves(el);
        renew();
      }}
      onStalled={({ currentTarget: el }) => {
        leaves(el);
        void checkEdge();
      }}
      onLoadedMetadata={({ currentTarget: el }) => {
        if (left.current) el.currentTime = left.current.at;
        left.current = undefined;
      }}
    />
  );
}
