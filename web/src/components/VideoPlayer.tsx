import { useEffect, useRef, type ComponentProps } from "react";
import type { Download } from "../download.js";

/** A video with the browser's controls. Where its URL has expired, it goes on with a new one from where it was. */
export function VideoPlayer({ of: { url, renew }, ...props }: { of: Download } & Omit<ComponentProps<"video">, "ref" | "src">) {
  const video = useRef<HTMLVideoElement>(null);
  const left = useRef<{ at: number; playing: boolean }>(undefined);
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
        left.current = { at: el.currentTime, playing: !el.paused };
        renew();
      }}
      onLoadedMetadata={({ currentTarget: el }) => {
        if (left.current) el.currentTime = left.current.at;
        left.current = undefined;
      }}
    />
  );
}
