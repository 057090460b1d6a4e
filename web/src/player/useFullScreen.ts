import { useCallback, useEffect, useState, type RefObject } from "react";

/** Telephones of Apple give the full screen to a video alone. */
type VideoOfIos = HTMLVideoElement & { webkitEnterFullscreen?: () => void };

/** Whether an element has the full screen, and what gives and takes it. */
export function useFullScreen(frame: RefObject<HTMLElement | null>, video: RefObject<HTMLVideoElement | null>): { on: boolean; toggle: () => void } {
  const [on, setOn] = useState(false);
  useEffect(() => {
    const look = () => setOn(document.fullscreenElement !== null && document.fullscreenElement === frame.current);
    document.addEventListener("fullscreenchange", look);
    return () => document.removeEventListener("fullscreenchange", look);
  }, [frame]);
  const toggle = useCallback(() => {
    const el = frame.current;
    if (!el) return;
    if (document.fullscreenElement) void document.exitFullscreen().catch(() => {});
    else if (el.requestFullscreen) void el.requestFullscreen().catch(() => {}); // the browser may refuse
    else (video.current as VideoOfIos | null)?.webkitEnterFullscreen?.();
  }, [frame, video]);
  return { on, toggle };
}
