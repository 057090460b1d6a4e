import { useEffect, type RefObject } from "react";
import { useClient } from "../client.js";

/** A post counts as viewed when half of it, or half of the view, has shown it for so long. */
const viewedMs = 1_000;

/** Records a post as viewed once it was on the screen for a moment, and tells when it comes onto the screen and leaves it. */
export function useViewed(card: RefObject<HTMLElement | null>, post: string): void {
  const client = useClient();
  useEffect(() => {
    const el = card.current;
    if (!el) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isInView = false;
    const update = () => {
      const isSeen = isInView && document.visibilityState !== "hidden";
      clearTimeout(timer);
      if (isSeen) timer = setTimeout(() => client.viewed(post), viewedMs);
      client.postOnScreen(post, isSeen);
    };
    const observer = new IntersectionObserver(
      (entries) => {
        const e = entries.at(-1);
        isInView = e !== undefined && (e.intersectionRatio >= 0.5 || e.intersectionRect.height >= innerHeight / 2);
        update();
      },
      { threshold: [0, 0.25, 0.5, 0.75] },
    );
    observer.observe(el);
    document.addEventListener("visibilitychange", update);
    return () => {
      isInView = false;
      update();
      document.removeEventListener("visibilitychange", update);
      observer.disconnect();
    };
  }, [client, card, post]);
}
