import { RialtoError, type Client, type Video } from "@rialto-im/client";
import { refusalOf } from "./videoIndex.js";

/** What uploads of videos are for, so that they are found again on any device. */
export const videoPurpose = "video";

/** A video file on its way to the server. */
export interface VideoUpload {
  readonly id: string;
  /** The draft that it is for. */
  readonly slot: string;
  readonly name: string;
  readonly size: number;
  /** Bytes that have gone. */
  readonly sent: number;
  /** Of the last seconds; 0 until it is known. */
  readonly bytesPerSecond: number;
  /** The user paused it. */
  readonly paused: boolean;
  /** It begins when one of the others is done. */
  readonly waiting: boolean;
  readonly error?: unknown;
  /** The upload of the server, once a large file has begun. */
  readonly upload?: string | undefined;
  /** The video that was made from it. */
  readonly video?: string;
}

/** How much a new measurement counts, of one second. */
const weightOfSecond = 0.4;

/** Smooths the speed of an upload. */
export class Speed {
  private lastMs: number;
  private last = 0;
  private rate = 0;

  constructor(nowMs: number) {
    this.lastMs = nowMs;
  }

  /** Takes how many bytes have gone, and returns bytes per second. */
  measure(sent: number, nowMs: number): number {
    const seconds = (nowMs - this.lastMs) / 1_000;
    if (seconds < 0.2 || sent < this.last) return this.rate;
    const now = (sent - this.last) / seconds;
    const weight = this.rate === 0 ? 1 : 1 - (1 - weightOfSecond) ** seconds;
    this.rate += weight * (now - this.rate);
    this.lastMs = nowMs;
    this.last = sent;
    return this.rate;
  }
}

/** How long the rest takes; undefined: unknown. */
export function leftMs({ size, sent, bytesPerSecond }: VideoUpload): number | undefined {
  return bytesPerSecond > 0 && sent < size ? ((size - sent) / bytesPerSecond) * 1_000 : undefined;
}

/** How many files are on their way at once. */
const most = 2;

/** Errors after which the same file would be refused again. */
const refusals = new Set(["not_a_video", "video_damaged", "video_limits", "video_codec", "bad_size", "part_differs"]);

/** Whether another attempt with the same file has another result. */
export function isRetriable(error: unknown): boolean {
  return !(error instanceof RialtoError) || !refusals.has(error.reason);
}

interface Running {
  file: File;
  abort: AbortController;
  /** The upload is complete; what remains is to make a video of it. */
  complete?: string;
}

/** VideoUploads uploads video files and makes videos of them. It goes on while the dialog or page is closed that began it. */
export class VideoUploads {
  private list: readonly VideoUpload[] = [];
  private readonly running = new Map<string, Running>();
  private readonly listeners = new Set<() => void>();

  constructor(
    private readonly client: Pick<Client, "upload" | "createVideo" | "abortUpload">,
    private readonly now: () => number = Date.now,
    private readonly refusal: (file: File) => Promise<unknown> = refusalOf,
  ) {}

  readonly all = (): readonly VideoUpload[] => this.list;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };

  /** Begins to upload a file for a draft, in place of what else was on its way for it. */
  start(slot: string, file: File): void {
    this.discard(slot);
    this.add(slot, file);
  }

  /** Uploads a file beside the others, or continues an unfinished upload of it. */
  add(slot: string, file: File, upload?: string): void {
    const id = crypto.randomUUID();
    this.running.set(id, { file, abort: new AbortController() });
    this.show([...this.list, { id, slot, name: file.name, size: file.size, sent: 0, bytesPerSecond: 0, paused: false, waiting: true, upload }]);
    this.next();
  }

  /** Stops an upload until it is resumed. Of a large file, the server keeps what it has. */
  pause(id: string): void {
    const running = this.running.get(id);
    if (!running) return;
    this.change(id, { paused: true, waiting: false, bytesPerSecond: 0 });
    running.abort.abort();
    this.next();
  }

  /** Goes on with an upload that was paused, or failed. */
  resume(id: string): void {
    if (!this.running.has(id)) return;
    this.change(id, { paused: false, waiting: true, bytesPerSecond: 0, error: undefined });
    this.next();
  }

  /** Takes an upload out: one that is under way ends. What the server has stays there. */
  remove(id: string): void {
    this.running.get(id)?.abort.abort();
    this.running.delete(id);
    this.show(this.list.filter((u) => u.id !== id));
    this.next();
  }

  /** Takes an upload back, also what the server has of it. */
  cancel(id: string): void {
    const upload = this.list.find((u) => u.id === id)?.upload;
    this.remove(id);
    if (upload !== undefined) this.abort(upload);
  }

  /** Takes back what is on its way for a draft. */
  discard(slot: string): void {
    for (const u of this.list) if (u.slot === slot) this.cancel(u.id);
  }

  /** Ends all, as when the user leaves. */
  clear(): void {
    const ids = this.list.map((u) => u.id);
    this.list = this.list.map((u) => ({ ...u, waiting: false }));
    for (const id of ids) this.remove(id);
  }

  /** Begins those that wait, while few are under way. */
  private next(): void {
    for (;;) {
      const u = this.list.find((u) => u.waiting);
      const before = u && this.running.get(u.id);
      if (!before || this.list.filter((u) => !u.waiting && !u.paused && u.error === undefined && u.video === undefined).length >= most) return;
      const running = { ...before, abort: new AbortController() };
      this.running.set(u.id, running);
      this.change(u.id, { waiting: false });
      void this.send(u, running);
    }
  }

  private async send({ id, upload: continued }: VideoUpload, running: Running): Promise<void> {
    const { file } = running;
    const speed = new Speed(this.now());
    const isOurs = () => this.running.get(id) === running && !running.abort.signal.aborted;
    const begun = (upload: string) => {
      if (this.running.has(id)) this.change(id, { upload });
      else this.abort(upload); // it was taken back meanwhile
    };
    const progress = (sent: number) => isOurs() && this.change(id, { sent, bytesPerSecond: speed.measure(sent, this.now()) });
    try {
      const refusal = await this.refusal(file).catch(() => undefined); // a file that cannot be read fails below
      if (refusal) throw refusal;
      if (!isOurs()) return;
      running.complete ??= (await this.client.upload(file, file.name, progress, running.abort.signal, { upload: continued, purpose: videoPurpose, begun })).upload;
      if (!isOurs()) return;
      const video: Video = await this.client.createVideo(running.complete);
      if (isOurs()) this.change(id, { sent: file.size, video: video.id });
    } catch (error) {
      if (!isOurs()) return;
      const reason = error instanceof RialtoError ? error.reason : "";
      if (reason === "no_upload") delete running.complete; // its file is gone: another attempt sends it again
      // The upload that was to be continued is that of another file: it stays in the list of unfinished uploads.
      this.change(id, { error, bytesPerSecond: 0, ...(reason === "part_differs" ? { upload: undefined } : {}) });
    }
    this.next();
  }

  private abort(upload: string): void {
    this.client.abortUpload(upload).catch(() => {}); // otherwise it is still in the list of unfinished uploads, or expires
  }

  private change(id: string, part: Partial<VideoUpload>): void {
    this.show(this.list.map((u) => (u.id === id ? { ...u, ...part } : u)));
  }

  private show(list: readonly VideoUpload[]): void {
    this.list = list;
    for (const f of [...this.listeners]) f();
  }
}
