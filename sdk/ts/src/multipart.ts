import { RialtoError } from "./errors.js";
import type { MultipartUpload, Upload } from "./gen/rialto/chat/v1/media_pb.js";
import { SpeedMeter } from "./speed.js";
import type { Store } from "./storage.js";
import { cancelled, putThroughEdges, type FileAddress, type Media, type Progress } from "./putFile.js";

/** Parts that are sent at once. */
const parallel = 3;

/** How a file is uploaded that is large enough to go in parts. */
export interface UploadOptions {
  /** Continues an unfinished upload of the same file, which may have begun on another device. Another file is refused with the reason `part_differs`. */
  upload?: string | undefined;
  /** What the upload is for, by which `unfinishedUploads` selects: at most 64 bytes. */
  purpose?: string | undefined;
  /** Told the id of the upload before the first part is sent. */
  begun?: ((upload: string) => void) | undefined;
}

export interface PartsOptions extends UploadOptions {
  progress?: Progress | undefined;
  signal?: AbortSignal | undefined;
  /** Remembers which uploads have begun. Without it, an interrupted upload begins again. */
  resumes?: Resumes | undefined;
}

/**
 * Resumes remembers which files have begun to be uploaded, also after the page was closed. A file that is chosen again is known by its
 * name, type, size and time; the server knows which of its parts are missing.
 */
export class Resumes {
  private readonly begun = new WeakMap<Blob, string>();

  constructor(private readonly store: Pick<Store, "get" | "write">) {}

  async find(file: Blob): Promise<string | undefined> {
    const key = fileKey(file);
    return this.begun.get(file) ?? (key === undefined ? undefined : this.store.get<string>("meta", key).catch(() => undefined));
  }

  /** Where the device cannot store it, the upload only goes on while the page is open. */
  async remember(file: Blob, upload: string): Promise<void> {
    this.begun.set(file, upload);
    const key = fileKey(file);
    if (key !== undefined) await this.store.write([{ table: "meta", key, value: upload }]).catch(() => {});
  }

  async forget(file: Blob): Promise<void> {
    this.begun.delete(file);
    const key = fileKey(file);
    if (key !== undefined) await this.store.write([{ table: "meta", key }]).catch(() => {});
  }
}

/** What a file is known by; undefined for bytes that are no file. */
function fileKey(file: Blob): string | undefined {
  if (typeof File === "undefined" || !(file instanceof File)) return undefined;
  return `upload:${file.size}:${file.lastModified}:${file.type}:${file.name}`;
}

/** Deletes what the server has of a file whose upload was taken back. */
export async function discardParts(media: Media, file: Blob, resumes: Resumes): Promise<void> {
  const upload = await resumes.find(file);
  if (upload === undefined) return;
  await resumes.forget(file);
  await media.abortUpload({ upload });
}

/** Uploads a file in parts, of which some are sent at once. It goes on where an earlier call for the same file was interrupted. */
export async function uploadParts(media: Media, at: FileAddress, file: Blob, name: string, options: PartsOptions = {}): Promise<Upload> {
  const { resumes, purpose = "", begun } = options;
  const known = await resumes?.find(file);
  if (options.upload !== undefined && options.upload !== known) {
    try {
      const state = await compared(await media.getMultipartUpload({ upload: options.upload }), file, options.signal);
      begun?.(options.upload);
      await resumes?.remember(file, options.upload);
      return await finish(media, at, file, state, options);
    } catch (err) {
      if (!(err instanceof RialtoError) || err.reason !== "no_upload") throw err;
      await resumes?.forget(file);
    }
  } else if (known !== undefined) {
    try {
      begun?.(known);
      return await finish(media, at, file, await media.getMultipartUpload({ upload: known }), options);
    } catch (err) {
      if (!(err instanceof RialtoError) || !gone.has(err.reason)) throw err;
      await resumes?.forget(file);
    }
  }
  const made = await media.createMultipartUpload({ name, mimeType: file.type, size: BigInt(file.size), purpose });
  begun?.(made.upload);
  await resumes?.remember(file, made.upload);
  return finish(media, at, file, made, options);
}

/**
 * Fails unless a file is that of which an upload has parts already. Where the page may not compute checksums, all parts are missing: they are sent again, and the server
 * compares them.
 */
async function compared(state: MultipartUpload, file: Blob, signal: AbortSignal | undefined): Promise<MultipartUpload> {
  if (Number(state.size) !== file.size) throw differs();
  if (state.missing.length === 0 && state.checksums.length === 0) return state; // another device has completed it
  const missing = new Set(state.missing);
  const stored = Array.from({ length: state.parts }, (_, i) => i + 1).filter((part) => !missing.has(part));
  for (const [i, part] of stored.entries()) {
    if (signal?.aborted) throw cancelled();
    const sum = await checksumOf(pieceOf(file, Number(state.partSize), part));
    if (!sum) return { ...state, missing: Array.from({ length: state.parts }, (_, i) => i + 1) };
    const expected = state.checksums[i];
    if (!expected || expected.some((byte, k) => byte !== sum[k])) throw differs();
  }
  return state;
}

const differs = () => new RialtoError("already_exists", "this is another file than the one whose upload has begun", "part_differs");

/** A part of a file; the numbers begin with 1. */
const pieceOf = (file: Blob, partSize: number, part: number) => file.slice((part - 1) * partSize, part * partSize);

/** The upload was dropped, or is that of another file: it begins again. */
const gone = new Set(["no_upload", "part_differs", "not_multipart", "upload_complete"]);

async function finish(media: Media, at: FileAddress, file: Blob, state: MultipartUpload, { progress, signal, resumes }: PartsOptions): Promise<Upload> {
  const { upload } = state;
  if (Number(state.size) !== file.size && state.missing.length > 0) throw differs();
  const partSize = Number(state.partSize);
  const piece = (part: number) => pieceOf(file, partSize, part);
  const missing = [...state.missing];
  let stored = file.size - missing.reduce((sum, part) => sum + piece(part).size, 0);
  const meter = new SpeedMeter(stored, file.size);
  const onTheWay = new Map<number, number>();
  const report = () => {
    const sent = [...onTheWay.values()].reduce((sum, n) => sum + n, stored);
    progress?.(sent, file.size, meter.add(sent));
  };
  report();
  const stop = new AbortController();
  const abort = () => stop.abort();
  signal?.addEventListener("abort", abort);
  const send = async (part: number): Promise<void> => {
    const bytes = piece(part);
    const { urls } = await media.signParts({ upload, parts: [part] });
    const headers = await digestOf(bytes);
    if (stop.signal.aborted) throw cancelled();
    const count = (sent: number) => {
      onTheWay.set(part, Math.min(sent, bytes.size));
      report();
    };
    await putThroughEdges(at, urls[0]!, bytes, count, stop.signal, headers);
    onTheWay.delete(part);
    stored += bytes.size;
    report();
  };
  const worker = async (): Promise<void> => {
    for (let part = missing.shift(); part !== undefined && !stop.signal.aborted; part = missing.shift()) await send(part);
  };
  try {
    if (signal?.aborted) throw cancelled();
    const workers = Array.from({ length: parallel }, worker);
    try {
      await Promise.all(workers);
    } catch (err) {
      stop.abort();
      await Promise.allSettled(workers);
      throw err;
    }
    if (stop.signal.aborted) throw cancelled();
  } finally {
    signal?.removeEventListener("abort", abort);
  }
  const done = await media.completeUpload({ upload });
  await resumes?.forget(file);
  return done;
}

/** The checksum that the server compares, where the page may compute one. */
async function digestOf(bytes: Blob): Promise<Record<string, string>> {
  const sum = await checksumOf(bytes);
  if (!sum) return {};
  return { "Content-Digest": `sha-256=:${btoa(String.fromCharCode(...sum))}:` };
}

/** SHA-256; undefined where the page may not compute it, as without HTTPS. */
async function checksumOf(bytes: Blob): Promise<Uint8Array | undefined> {
  const subtle = globalThis.crypto?.subtle;
  return subtle && new Uint8Array(await subtle.digest("SHA-256", await bytes.arrayBuffer()));
}
