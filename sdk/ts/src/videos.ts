import { Backoff } from "./backoff.js";
import { RialtoError, asError, isOffline } from "./errors.js";
import { VideoState, type Video } from "./gen/rialto/video/v1/video_pb.js";

/** What is known of a video on this device. */
export interface VideoView {
  /** Undefined until it was read, and where it is not for the user. */
  readonly video: Video | undefined;
  /** Why it could not be read. What was read before stays, unless the server says that it is gone. */
  readonly error: RialtoError | undefined;
}

export interface ObservedVideosDeps {
  /** Reads a video: that which a post shows, or with "0" one of the user's own. */
  read: (video: string, post: string) => Promise<Video>;
  now: () => number;
  random: () => number;
  onChange: () => void;
}

/** While a video is processed it is read again after so long, and later where nothing was finished meanwhile. */
const leastProcessingMs = 1_000;
const mostProcessingMs = 10_000;
const growth = 1.5;
/** New addresses are read so long before the old ones expire; never more often than every half minute. */
const beforeExpiryMs = 60_000;
const leastRenewalMs = 30_000;
const retryBaseMs = 2_000;
/** So many videos are kept that nobody watches any more. */
const mostUnwatched = 100;

const unread: VideoView = { video: undefined, error: undefined };

interface Entry {
  readonly video: string;
  readonly post: string;
  view: VideoView;
  watchers: number;
  /** The last wait between two reads of a video that is being processed. */
  waitMs: number;
  readonly backoff: Backoff;
  timer?: ReturnType<typeof setTimeout> | undefined;
  reading?: Promise<void> | undefined;
}

/**
 * ObservedVideos keeps the videos that are shown up to date: their processing while it lasts, and later their addresses, which expire. Several who
 * watch the same video share its reads.
 */
export class ObservedVideos {
  /** By post and video; those that were used last come last. */
  private readonly entries = new Map<string, Entry>();

  constructor(private readonly deps: ObservedVideosDeps) {}

  view(video: string, post: string): VideoView {
    return this.entries.get(keyOf(video, post))?.view ?? unread;
  }

  /** Reads a video, and again when it may have changed, until the function that is returned is called. */
  watch(video: string, post: string): () => void {
    const e = this.entry(video, post);
    e.watchers++;
    if (e.watchers === 1) {
      if (!e.view.video || e.view.error || this.isStale(e.view.video)) void this.read(e);
      else this.plan(e, this.nextMs(e));
    }
    let watching = true;
    return () => {
      if (!watching) return;
      watching = false;
      if (--e.watchers > 0) return;
      clearTimeout(e.timer);
      this.dropOld();
    };
  }

  /** Reads a video now: at once, or with the read that is under way. */
  refresh(video: string, post: string): Promise<void> {
    return this.read(this.entry(video, post));
  }

  /** The server has answered with one of the user's own videos. */
  took(video: Video): void {
    const e = this.entry(video.id, "0");
    this.show(e, { video, error: undefined });
    e.waitMs = leastProcessingMs;
    if (e.watchers > 0) this.plan(e, this.nextMs(e));
  }

  /** Where the user is in a video has changed here. */
  moved(video: string, positionMs: number): void {
    for (const e of this.entries.values()) if (e.video === video && e.view.video) this.show(e, { ...e.view, video: { ...e.view.video, positionMs } });
  }

  /** A video was deleted here. */
  removed(video: string): void {
    for (const e of this.entries.values()) {
      if (e.video !== video) continue;
      clearTimeout(e.timer);
      this.show(e, { video: undefined, error: new RialtoError("not_found", "the video was deleted", "no_video") });
    }
  }

  /** Another user is logged in. */
  forget(): void {
    for (const e of this.entries.values()) clearTimeout(e.timer);
    this.entries.clear();
  }

  private entry(video: string, post: string): Entry {
    const key = keyOf(video, post);
    let e = this.entries.get(key);
    if (e) this.entries.delete(key);
    else e = { video, post, view: unread, watchers: 0, waitMs: leastProcessingMs, backoff: new Backoff(this.deps.random, retryBaseMs) };
    this.entries.set(key, e);
    return e;
  }

  private dropOld(): void {
    const unwatched = [...this.entries].filter(([, e]) => e.watchers === 0);
    for (const [key] of unwatched.slice(0, Math.max(0, unwatched.length - mostUnwatched))) this.entries.delete(key);
  }

  private read(e: Entry): Promise<void> {
    clearTimeout(e.timer);
    e.reading ??= this.readNow(e).finally(() => (e.reading = undefined));
    return e.reading;
  }

  private async readNow(e: Entry): Promise<void> {
    const before = e.view.video;
    try {
      const video = await this.deps.read(e.video, e.post);
      e.backoff.reset();
      e.waitMs = before && progressOf(before) === progressOf(video) ? Math.min(mostProcessingMs, e.waitMs * growth) : leastProcessingMs;
      this.show(e, { video, error: undefined });
      this.plan(e, this.nextMs(e));
    } catch (err) {
      const error = asError(err);
      const isPassing = isOffline(error) || error.retryMs > 0;
      this.show(e, { video: isPassing ? e.view.video : undefined, error });
      this.plan(e, isPassing ? e.backoff.next(error.retryMs) : undefined);
    }
  }

  private show(e: Entry, view: VideoView): void {
    e.view = view;
    this.deps.onChange();
  }

  /** Whether the addresses of a video work no longer, or not for long. */
  private isStale({ playback }: Video): boolean {
    return playback !== undefined && Number(playback.expiresMs) - beforeExpiryMs <= this.deps.now();
  }

  /** After how long a video is worth another read; undefined: it stays as it is. */
  private nextMs({ view: { video }, waitMs }: Entry): number | undefined {
    if (!video) return 0;
    if (isProcessing(video) || video.renditions.some((r) => r.requested)) return waitMs;
    if (!video.playback) return undefined;
    return Math.max(leastRenewalMs, Number(video.playback.expiresMs) - beforeExpiryMs - this.deps.now());
  }

  private plan(e: Entry, ms: number | undefined): void {
    clearTimeout(e.timer);
    if (ms !== undefined && e.watchers > 0) e.timer = setTimeout(() => void this.read(e), ms);
  }
}

export function isProcessing({ state }: Video): boolean {
  return state === VideoState.WAITING || state === VideoState.PROCESSING;
}

/** Which part of the processing is done: two of the same text have the same. */
function progressOf(v: Video): string {
  return JSON.stringify([v.state, v.steps.map((s) => [s.done, s.total]), v.renditions.map((r) => [r.playableMs, r.requested]), v.posters.length]);
}

/** A video with addresses that work outside of the server's pages. place makes one of an address that the server gave. */
export function withAddresses(v: Video, place: (address: string) => string): Video {
  const absolute = (address: string) => (address === "" ? "" : place(address));
  return {
    ...v,
    playback: v.playback && { ...v.playback, hlsUrl: absolute(v.playback.hlsUrl), dashUrl: absolute(v.playback.dashUrl) },
    posters: v.posters.map((p) => ({ ...p, url: absolute(p.url) })),
    subtitles: v.subtitles.map((s) => ({ ...s, url: absolute(s.url) })),
    files: v.files.map((f) => ({ ...f, url: absolute(f.url) })),
    storyboard: v.storyboard && { ...v.storyboard, url: absolute(v.storyboard.url), vttUrl: absolute(v.storyboard.vttUrl) },
  };
}

function keyOf(video: string, post: string): string {
  return `${post}/${video}`;
}
