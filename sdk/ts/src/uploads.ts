import { create } from "@bufbuild/protobuf";
import { RialtoError, isOffline } from "./errors.js";
import type { Upload } from "./gen/rialto/chat/v1/media_pb.js";
import { AlbumItemSchema, AlbumSchema, MediaSchema, type Content } from "./gen/rialto/chat/v1/message_pb.js";
import { numberKey, type Op, type Store } from "./storage.js";
import type { Speed } from "./speed.js";
import type { Progress } from "./putFile.js";

/** What is known of a file besides its bytes. */
export interface AboutFile {
  /** Of a recording or a video. */
  durationMs?: number;
  /** Makes it a voice message. */
  waveform?: Uint8Array;
  /** A picture to show until the video plays, and its size in pixels. */
  poster?: { file: Blob; width: number; height: number };
}

/** A file of a message. */
export interface FilePart extends AboutFile {
  file: Blob;
  name: string;
}

/** A file on its way, or the files of an album: kept on the device until the server has them and the message with them is in the outbox. */
export interface PendingUpload {
  id: string;
  conversation: string;
  /** Name and bytes of the first file. */
  name: string;
  file: Blob;
  /** Of an album, all files. */
  files?: readonly FilePart[];
  about?: AboutFile;
  caption: string;
  /** Part that was sent, 0 to 1. */
  part: number;
  /** How fast it goes, while it does. */
  speed?: Speed | undefined;
  /** The user paused it. */
  paused: boolean;
  /** The network failed: it is tried again. */
  waiting: boolean;
  /** False where the device could not store the file: closing the page loses it. */
  kept: boolean;
  /** The server refused it for good. */
  error?: unknown;
}

/** What the device stores of an upload. */
type Stored = Pick<PendingUpload, "id" | "conversation" | "name" | "file" | "files" | "about" | "caption"> & { paused?: boolean };

export interface UploadsDeps {
  store: Store;
  upload(file: Blob, name: string, progress?: Progress, signal?: AbortSignal): Promise<Upload>;
  /** Deletes what the server has of a file that was taken back. */
  discard?(file: Blob): void;
  /** Puts a message into the outbox, in one write with ops. */
  enqueue(conversation: string, content: Content["kind"], ops: readonly Op[]): Promise<unknown>;
  /** Runs work while no other window of the browser works on the same upload. */
  exclusive(id: string, work: () => Promise<void>): void;
  onChange(): void;
}

const retryMs = 3_000;
/** The least time between two changes of the same percentage. */
const speedMs = 500;
const counter = "uploads";

/**
 * Uploads sends files one after the other, in the order in which they were chosen. They are stored on the device, so that they go on
 * after a reload. A file leaves the device in the write that puts its message into the outbox, so it is sent once.
 */
export class Uploads {
  private list: readonly PendingUpload[] = [];
  private current: { id: string; abort: AbortController } | undefined;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private tail: Promise<unknown> = Promise.resolve();
  private stopped = false;
  /** Ends the exclusive work on an upload that is gone. */
  private readonly release = new Map<string, () => void>();

  constructor(private readonly deps: UploadsDeps) {}

  /** Goes on with what an earlier start left. What another window works on comes here if that window is closed. */
  async load(): Promise<void> {
    for (const stored of await this.deps.store.list<Stored>("uploads")) {
      this.deps.exclusive(stored.id, async () => {
        if (!(await this.deps.store.get("uploads", stored.id))) return;
        await this.own({ ...stored, paused: stored.paused ?? false, part: 0, waiting: false, kept: true });
      });
    }
  }

  all(): readonly PendingUpload[] {
    return this.list;
  }

  /** Resolves once the device has stored the file, or could not. */
  add(conversation: string, files: readonly FilePart[], caption = ""): Promise<void> {
    const [first] = files;
    if (!first) return Promise.resolve();
    const { file, name, ...about } = first;
    const added = this.tail.then(async () => {
      if (this.stopped) return;
      const id = numberKey(await this.deps.store.count(counter, 0));
      const stored: Stored = { id, conversation, name, file, caption, about, ...(files.length > 1 ? { files } : {}) };
      const kept = await this.deps.store.write([{ table: "uploads", key: id, value: stored }]).then(() => true, () => false);
      this.deps.exclusive(id, () => this.own({ ...stored, paused: false, part: 0, waiting: false, kept }));
    });
    this.tail = added.catch(() => {});
    return added;
  }

  /** Takes a file back, also while it is on its way. */
  async cancel(id: string): Promise<void> {
    const u = this.list.find((u) => u.id === id);
    this.remove(id);
    if (this.current?.id === id) this.current.abort.abort();
    for (const part of u?.files ?? (u ? [u] : [])) this.deps.discard?.(part.file);
    await this.deps.store.write([{ table: "uploads", key: id }]);
  }

  /** Stops a file until it is resumed, also after a reload. What the server has of a large one is kept. */
  pause(id: string): Promise<void> {
    return this.setPaused(id, true);
  }

  resume(id: string): Promise<void> {
    return this.setPaused(id, false);
  }

  private async setPaused(id: string, paused: boolean): Promise<void> {
    const u = this.list.find((u) => u.id === id);
    if (!u || u.paused === paused) return;
    this.change(id, { paused, speed: undefined, waiting: false });
    if (paused && this.current?.id === id) this.current.abort.abort();
    if (!paused) void this.work();
    const stored = u.kept ? await this.deps.store.get<Stored>("uploads", id) : undefined;
    if (stored && this.list.some((u) => u.id === id)) await this.deps.store.write([{ table: "uploads", key: id, value: { ...stored, paused } }]);
  }

  retry(id: string): void {
    this.change(id, { error: undefined, part: 0 });
    void this.work();
  }

  /** Tries at once what waits for the network. */
  wake(): void {
    if (this.list.some((u) => u.waiting)) void this.work();
  }

  /** Ends the work; what is stored stays for the next start. */
  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
    this.current?.abort.abort();
    for (const end of this.release.values()) end();
    this.list = [];
  }

  /** Works on an upload until it is sent, taken back, or the client stops. */
  private own(u: PendingUpload): Promise<void> {
    if (this.stopped) return Promise.resolve(); // while it waited for the lock, or for the store
    const gone = new Promise<void>((resolve) => this.release.set(u.id, resolve));
    this.put([...this.list, u].sort((a, b) => (a.id < b.id ? -1 : 1)));
    void this.work();
    return gone;
  }

  private async work(): Promise<void> {
    clearTimeout(this.timer);
    if (this.current) return;
    for (let u = this.due(); u; u = this.due()) {
      const abort = new AbortController();
      this.current = { id: u.id, abort };
      try {
        await this.send(u, abort.signal);
      } catch (err) {
        if (this.stopped) return;
        if (abort.signal.aborted) continue; // paused, or taken back
        if (isOffline(err)) {
          this.change(u.id, { waiting: true, speed: undefined });
          this.timer = setTimeout(() => void this.work(), retryMs);
          return;
        }
        this.change(u.id, { error: err, speed: undefined });
      } finally {
        this.current = undefined;
      }
    }
  }

  private async send(u: PendingUpload, signal: AbortSignal): Promise<void> {
    const { id } = u;
    this.change(id, { waiting: false });
    const parts = u.files ?? [{ ...u.about, file: u.file, name: u.name }];
    const total = parts.reduce((sum, p) => sum + p.file.size + (p.poster?.file.size ?? 0), 0);
    let done = 0;
    let shown = 0;
    const upload = async (file: Blob, name: string) => {
      const progress: Progress = (sent, _total, { bytesPerSecond }) => {
        const part = total > 0 ? Math.min(1, Math.round((100 * (done + sent)) / total) / 100) : 1;
        if (signal.aborted || (part === this.list.find((u) => u.id === id)?.part && Date.now() - shown < speedMs)) return;
        shown = Date.now();
        this.change(id, { part, speed: bytesPerSecond > 0 ? { bytesPerSecond, remainingMs: (1_000 * (total - done - sent)) / bytesPerSecond } : undefined });
      };
      const up = await this.deps.upload(file, name, progress, signal);
      done += file.size;
      return up;
    };
    const content = await uploadContent(parts, u.caption, async (file, name) => {
      const up = await upload(file, name);
      signal.throwIfAborted();
      return up;
    });
    await this.deps.enqueue(u.conversation, content, [{ table: "uploads", key: id }]);
    this.remove(id);
  }

  private due(): PendingUpload | undefined {
    return this.stopped ? undefined : this.list.find((u) => u.error === undefined && !u.paused);
  }

  private remove(id: string): void {
    this.put(this.list.filter((u) => u.id !== id));
    this.release.get(id)?.();
    this.release.delete(id);
  }

  private change(id: string, part: Partial<PendingUpload>): void {
    const old = this.list.find((u) => u.id === id);
    if (!old || (Object.keys(part) as (keyof PendingUpload)[]).every((k) => old[k] === part[k])) return;
    this.put(this.list.map((u) => (u.id === id ? { ...u, ...part } : u)));
  }

  private put(list: readonly PendingUpload[]): void {
    this.list = list;
    this.deps.onChange();
  }
}

/** Uploads files one after the other, and returns what a message with them has: one file, or an album. */
export async function uploadContent(parts: readonly FilePart[], caption: string, upload: (file: Blob, name: string) => Promise<Upload>): Promise<Content["kind"]> {
  const media: Content["kind"][] = [];
  for (const p of parts) {
    const poster = p.poster && (await upload(p.poster.file, "poster"));
    media.push(contentOf(await upload(p.file, p.name), p, parts.length > 1 ? "" : caption, poster));
  }
  const [only] = media;
  if (!only) throw new RialtoError("invalid_argument", "choose a file", "bad_content");
  return media.length > 1 ? albumOf(media, caption) : only;
}

/** A picture is what the server could measure, a recording has a waveform, a video is what the server found to be one; all else is a file. */
function contentOf(up: Upload, about: AboutFile, caption: string, poster: Upload | undefined): Content["kind"] {
  const value = create(MediaSchema, {
    upload: up.upload, name: up.name, mimeType: up.mimeType, size: up.size, width: up.width, height: up.height,
    durationMs: Math.round(about.durationMs ?? 0), caption,
  });
  if (about.waveform) return { case: "voice", value: { ...value, waveform: new Uint8Array(about.waveform) } };
  if (up.width > 0) return { case: "image", value };
  if (!up.mimeType.startsWith("video/")) return { case: "file", value };
  return { case: "video", value: poster && about.poster ? { ...value, poster: poster.upload, width: about.poster.width, height: about.poster.height } : value };
}

function albumOf(media: readonly Content["kind"][], caption: string): Content["kind"] {
  const items = media.map((kind) => {
    if (kind.case === "image" || kind.case === "video") return create(AlbumItemSchema, { kind });
    throw new RialtoError("invalid_argument", "an album has pictures and videos only: send other files by themselves", "bad_content");
  });
  return { case: "album", value: create(AlbumSchema, { items, caption }) };
}
