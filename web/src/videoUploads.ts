import type { Client, Video } from "@rialto-im/client";

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
  readonly error?: unknown;
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

interface Running {
  file: File;
  abort: AbortController;
}

/** VideoUploads uploads video files and makes videos of them. It goes on while the dialog or page is closed that began it. */
export class VideoUploads {
  private list: readonly VideoUpload[] = [];
  private readonly running = new Map<string, Running>();
  private readonly listeners = new Set<() => void>();

  constructor(
    private readonly client: Pick<Client, "upload" | "createVideo">,
    private readonly now: () => number = Date.now,
  ) {}

  readonly all = (): readonly VideoUpload[] => this.list;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  };

  /** Begins to upload a file for a draft, in place of what else was on its way for it. */
  start(slot: string, file: File): void {
    this.discard(slot);
    const id = crypto.randomUUID();
    this.show([...this.list, { id, slot, name: file.name, size: file.size, sent: 0, bytesPerSecond: 0, paused: false }]);
    void this.send(id, file);
  }

  /** Stops an upload until it is resumed. Of a large file, the server keeps what it has. */
  pause(id: string): void {
    const running = this.running.get(id);
    if (!running) return;
    this.change(id, { paused: true, bytesPerSecond: 0 });
    running.abort.abort();
  }

  /** Goes on with an upload that was paused, or failed. */
  resume(id: string): void {
    const file = this.running.get(id)?.file;
    if (!file) return;
    this.change(id, { paused: false, bytesPerSecond: 0, error: undefined });
    void this.send(id, file);
  }

  /** Takes an upload out: one that is under way ends. */
  remove(id: string): void {
    this.running.get(id)?.abort.abort();
    this.running.delete(id);
    this.show(this.list.filter((u) => u.id !== id));
  }

  /** Takes out what is on its way for a draft. */
  discard(slot: string): void {
    for (const u of this.list) if (u.slot === slot) this.remove(u.id);
  }

  /** Ends all, as when the user leaves. */
  clear(): void {
    for (const u of this.list) this.remove(u.id);
  }

  private async send(id: string, file: File): Promise<void> {
    const running: Running = { file, abort: new AbortController() };
    this.running.set(id, running);
    const speed = new Speed(this.now());
    const isOurs = () => this.running.get(id) === running && !running.abort.signal.aborted;
    try {
      const { upload } = await this.client.upload(file, file.name, (sent) => isOurs() && this.change(id, { sent, bytesPerSecond: speed.measure(sent, this.now()) }), running.abort.signal);
      if (!isOurs()) return;
      const video: Video = await this.client.createVideo(upload);
      if (isOurs()) this.change(id, { sent: file.size, video: video.id });
    } catch (error) {
      if (isOurs()) this.change(id, { error });
    }
  }

  private change(id: string, part: Partial<VideoUpload>): void {
    this.show(this.list.map((u) => (u.id === id ? { ...u, ...part } : u)));
  }

  private show(list: readonly VideoUpload[]): void {
    this.list = list;
    for (const f of [...this.listeners]) f();
  }
}
