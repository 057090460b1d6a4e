import type { ServiceClient } from "./api.js";
import { RialtoError } from "./errors.js";
import type { MediaService, Upload } from "./gen/rialto/chat/v1/media_pb.js";

/** Told how many bytes have gone, of how many. */
export type Progress = (sent: number, total: number) => void;

type Media = ServiceClient<typeof MediaService>;

/** Uploads a file; the upload can then be sent, or made an avatar. */
export async function uploadFile(media: Media, at: { url: string; fetch: typeof fetch }, file: Blob, name: string, progress?: Progress, signal?: AbortSignal): Promise<Upload> {
  const slot = await media.createUpload({ name, mimeType: file.type, size: BigInt(file.size) });
  await putFile(new URL(slot.url, at.url).href, file, at.fetch, progress, signal);
  return media.completeUpload({ upload: slot.upload });
}

/** Puts a file to its URL: with progress where there is XMLHttpRequest. */
async function putFile(url: string, file: Blob, fetchFn: typeof fetch, progress?: Progress, signal?: AbortSignal): Promise<void> {
  if (typeof XMLHttpRequest === "undefined") {
    const res = await fetchFn(url, { method: "PUT", body: file, ...(signal ? { signal } : {}) });
    if (!res.ok) throw refused(res.status, await res.text());
    progress?.(file.size, file.size);
    return;
  }
  await new Promise<void>((resolve, reject) => {
    const x = new XMLHttpRequest();
    x.open("PUT", url);
    x.upload.onprogress = (e) => progress?.(e.loaded, file.size);
    x.onload = () => (x.status < 300 ? resolve() : reject(refused(x.status, x.responseText)));
    x.onerror = () => reject(new RialtoError("unavailable", "the file could not be sent; try again", "offline", 1_000));
    x.onabort = () => reject(new RialtoError("cancelled", "the upload was cancelled", "cancelled"));
    signal?.addEventListener("abort", () => x.abort());
    x.send(file);
  });
}

function refused(status: number, text: string): RialtoError {
  try {
    const body = JSON.parse(text) as { code?: string; message?: string; reason?: string };
    return new RialtoError(body.code ?? "unknown", body.message ?? text, body.reason);
  } catch {
    return new RialtoError(status >= 500 ? "unavailable" : "invalid_argument", `the server answered ${status}`);
  }
}
