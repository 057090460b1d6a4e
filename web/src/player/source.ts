import type { VideoRendition } from "@rialto-im/client";

/** What a player plays. */
export type PlayerSource =
  /** One file. */
  | { kind: "file"; url: string; renew: () => void; checkEdge: () => void }
  /** A playlist of a video in several sizes. complete: it will not change. */
  | { kind: "hls"; url: string; complete: boolean; renditions: readonly VideoRendition[]; renew: () => void; replace: (url: string, tried: ReadonlySet<string>) => string | undefined };
