import type { VideoRendition } from "@rialto-im/client";

/** One file. Its upload's id tells it apart from others. */
export interface FileSource {
  readonly kind: "file";
  readonly upload: string;
  readonly url: string;
  readonly renew: () => void;
  readonly checkEdge: () => void;
}

/** What a player plays. */
export type PlayerSource =
  | FileSource
  /** A playlist of a video in several sizes. complete: only sizes on demand come and go, which request asks for. */
  | { kind: "hls"; url: string; complete: boolean; renditions: readonly VideoRendition[]; renew: () => void; request: (rendition: string) => Promise<void>; replace: (url: string, tried: ReadonlySet<string>) => string | undefined };
