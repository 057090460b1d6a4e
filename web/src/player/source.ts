import type { VideoRendition } from "@rialto-im/client";

/** What a player plays. */
export type PlayerSource =
  /** One file. */
  | { kind: "file"; url: string; renew: () => void; checkEdge: () => void }
  /** A playlist of a video in several sizes. complete: only sizes on demand come and go, which request asks for. */
  | { kind: "hls"; url: string; complete: boolean; renditions: readonly VideoRendition[]; renew: () => void; request: (rendition: string) => Promise<void>; replace: (url: string, tried: ReadonlySet<string>) => string | undefined };
