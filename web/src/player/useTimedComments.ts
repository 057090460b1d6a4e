import type { Comment } from "@rialto-im/client";
import { useCallback, useEffect, useRef, useState } from "react";
import { useClient } from "../client.js";
import { storage } from "../storage.js";

/** Windows are read that begin at multiples of this. */
const windowMs = 20_000;
/** So long before a window begins, it is read. */
const aheadMs = 5_000;
/** A window is read again after so long, in case somebody has commented. */
const freshMs = 60_000;
const key = "video-comments";

export interface TimedComments {
  /** Sorted by their time in the video. */
  readonly list: readonly Comment[];
  /** They are shown. */
  readonly on: boolean;
  readonly toggle: () => void;
  readonly create: (timeMs: number, text: string) => Promise<void>;
  readonly remove: (comment: string) => Promise<void>;
}

/** The comments on times of a video. They are read while they are shown, around the place that is played. */
export function useTimedComments(post: string, video: string, atS: number): TimedComments {
  const client = useClient();
  const [windows, setWindows] = useState<ReadonlyMap<number, readonly Comment[]>>(new Map());
  const [on, setOn] = useState(() => storage.getItem(key) !== "off");
  const readMs = useRef(new Map<number, number>());
  const atMs = atS * 1_000;
  const wanted = on && post !== "0" ? [...new Set([Math.floor(atMs / windowMs), Math.floor((atMs + aheadMs) / windowMs)])].join() : "";
  useEffect(() => {
    for (const n of wanted === "" ? [] : wanted.split(",").map(Number)) {
      if ((readMs.current.get(n) ?? -freshMs) > performance.now() - freshMs) continue;
      readMs.current.set(n, performance.now());
      client.timedComments(post, video, n * windowMs, (n + 1) * windowMs).then(
        (list) => setWindows((known) => new Map(known).set(n, list)),
        () => readMs.current.delete(n), // it is read again with the next window
      );
    }
  }, [client, post, video, wanted]);
  const toggle = useCallback(() => {
    setOn((before) => {
      try {
        storage.setItem(key, before ? "off" : "on");
      } catch {
        // A full or forbidden storage: the next video shows them.
      }
      return !before;
    });
  }, []);
  const create = async (timeMs: number, text: string) => {
    const c = await client.createTimedComment({ post, video, timeMs, text });
    const n = Math.floor(c.timeMs / windowMs);
    setWindows((known) => new Map(known).set(n, [...(known.get(n) ?? []).filter((e) => e.id !== c.id), c].sort((a, b) => a.timeMs - b.timeMs)));
  };
  const remove = async (comment: string) => {
    await client.deleteTimedComment(comment);
    setWindows((known) => new Map([...known].map(([n, list]) => [n, list.filter((c) => c.id !== comment)])));
  };
  const list = [...windows].sort(([a], [b]) => a - b).flatMap(([, some]) => some);
  return { list, on, toggle, create, remove };
}
