import Hls, { type ErrorData, type Level as HlsLevel } from "hls.js";
import type { VideoRendition } from "@rialto-im/client";
import { SignedAddresses } from "./addresses.js";
import { failoverLoader } from "./failoverLoader.js";
import { autoLevels, type Level } from "./renditions.js";

/** Whether this browser plays HLS by our own means. Where it does not, it may play it by itself. */
export const isSupported = (): boolean => Hls.isSupported();

export interface HlsEvents {
  /** The sizes that can be chosen, the smallest first. */
  onLevels: (levels: readonly Level[]) => void;
  /** The size that is shown. */
  onLevel: (level: Level) => void;
  /** Addresses work no longer: a new one is needed. */
  onExpired: () => void;
  /** An address did not answer. Returns where to read instead, other than at the origins in tried; undefined: there is no other. */
  onUnreachable: (url: string, tried: ReadonlySet<string>) => string | undefined;
  /** It cannot go on by itself. */
  onFailed: (why: "network" | "media") => void;
}

/** Those of the playlist are for other players: ours has its own, which also come and go during playback. */
const withoutSubtitles = { subtitleStreamController: undefined, subtitleTrackController: undefined, timelineController: undefined } as Partial<typeof Hls.DefaultConfig>;

/** So often a player repairs itself after errors of the decoder, until it has played on. */
const mostRepairs = 2;
const expired = [401, 403, 404, 410];

/** Plays HLS in a video element. */
export class HlsEngine {
  private readonly hls: Hls;
  private readonly addresses: SignedAddresses;
  private renditions: readonly VideoRendition[] = [];
  private repairs = 0;
  /** It has stopped, and goes on with a new address. */
  private stopped = false;
  /** The height that was chosen; undefined: by itself. */
  private height: number | undefined;

  constructor(
    private readonly element: HTMLVideoElement,
    url: string,
    startAt: number,
    private readonly events: HlsEvents,
  ) {
    const addresses = (this.addresses = new SignedAddresses(url));
    this.hls = new Hls({
      ...withoutSubtitles,
      startPosition: startAt, // of a playlist that grows, too, which would begin at its end
      enableWorker: false, // there is nothing to convert: segments are fMP4, and the page allows no workers from blobs
      capLevelToPlayerSize: true,
      backBufferLength: 60,
      loader: failoverLoader(Hls.DefaultConfig.loader, addresses, (at, tried) => events.onUnreachable(at, tried)),
    });
    this.hls.on(Hls.Events.MANIFEST_PARSED, () => this.parsed());
    this.hls.on(Hls.Events.LEVEL_SWITCHED, (_, { level }) => this.hls.levels[level] && events.onLevel(sizeOf(this.hls.levels[level])));
    this.hls.on(Hls.Events.FRAG_BUFFERED, () => (this.repairs = 0));
    this.hls.on(Hls.Events.ERROR, (_, data) => this.failed(data));
    this.hls.attachMedia(element);
    this.hls.loadSource(url);
  }

  /** Goes on with a newer address of the same playlist. */
  renew(url: string): void {
    this.addresses.renew(url);
    if (!this.stopped) return;
    this.stopped = false;
    if (this.hls.levels.length === 0) this.hls.loadSource(url);
    else this.hls.startLoad(this.element.currentTime);
  }

  /** Reads the playlist again, which has more sizes than it had, and goes on from where it was. */
  reload(url: string): void {
    const { currentTime, paused } = this.element;
    this.addresses.renew(url);
    this.stopped = false;
    this.hls.config.startPosition = currentTime;
    this.hls.loadSource(url);
    if (!paused) this.hls.once(Hls.Events.MANIFEST_PARSED, () => void this.element.play().catch(() => {})); // the browser may want a click
  }

  /** Plays one size, or with undefined that which fits the network and the screen. */
  choose(height: number | undefined): void {
    this.height = height;
    const at = height === undefined ? -1 : this.hls.levels.findIndex((l) => l.height === height);
    this.hls.nextLevel = at;
  }

  /** Says how far the renditions are. */
  setRenditions(renditions: readonly VideoRendition[]): void {
    this.renditions = renditions;
    this.limit();
  }

  destroy(): void {
    this.hls.destroy();
  }

  private parsed(): void {
    this.limit();
    if (this.height !== undefined) this.choose(this.height);
    this.events.onLevels(this.hls.levels.map(sizeOf));
  }

  private limit(): void {
    const { levels } = this.hls;
    if (levels.length === 0) return;
    const { least, most } = autoLevels(levels.map(sizeOf), this.renditions);
    this.hls.config.minAutoBitrate = least === 0 ? 0 : levels[least]!.maxBitrate;
    this.hls.autoLevelCapping = most === levels.length - 1 ? -1 : most;
  }

  private failed(data: ErrorData): void {
    const isExpired = expired.includes(data.response?.code ?? 0);
    if (isExpired) this.events.onExpired();
    if (!data.fatal) return;
    if (data.type === Hls.ErrorTypes.MEDIA_ERROR && this.repairs < mostRepairs) {
      this.repairs++;
      this.hls.recoverMediaError();
      return;
    }
    this.stopped = true;
    if (!isExpired) this.events.onFailed(data.type === Hls.ErrorTypes.NETWORK_ERROR ? "network" : "media");
  }
}

function sizeOf({ width, height }: HlsLevel): Level {
  return { width, height };
}
