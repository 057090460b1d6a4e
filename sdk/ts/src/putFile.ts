import type { ServiceClient } from "./api.js";
import { RialtoError } from "./errors.js";
import type { MediaService } from "./gen/rialto/chat/v1/media_pb.js";
import type { Speed } from "./speed.js";

/** Told how many bytes have gone, of how many, and how fast. */
export type Progress = (sent: number, total: number, speed: Speed) => void;

export type Media = ServiceClient<typeof MediaService>;

/** Where files go. */
export interface FileAddress {
  url: string;
  fetch: typeof fetch;
}

/** Puts a file to its URL: with progress where there is XMLHttpRequest. */
export async function putFile(url: string, file: Blob, fetchFn: typeof fetch, progress?: (sent: number) => void, signal?: AbortSignal, headers: Record<string, string> = {}): Promise<void> {
  if (typeof XMLHttpRequest === "undefined") {
    const res = await fetchFn(url, { method: "PUT", body: file, headers, ...(signal ? { signal } : {}) }).catch((err: unknown) => {
      throw signal?.aborted ? cancelled() : err instanceof RialtoError ? err : lost();
    });
    if (!res.ok) throw refused(res.status, await res.text());
    progress?.(file.size);
    return;
  }
  await new Promise<void>((resolve, reject) => {
    const x = new XMLHttpRequest();
    x.open("PUT", url);
    for (const [name, value] of Object.entries(headers)) x.setRequestHeader(name, value);
    x.upload.onprogress = (e) => progress?.(e.loaded);
    x.onload = () => (x.status < 300 ? resolve() : reject(refused(x.status, x.responseText)));
    x.onerror = () => reject(lost());
    x.onabort = () => reject(cancelled());
    if (signal?.aborted) return void reject(cancelled());
    signal?.addEventListener("abort", () => x.abort());
    x.send(file);
  });
}

const lost = () => new RialtoError("unavailable", "the file could not be sent; try again", "offline", 1_000);

export const cancelled = () => new RialtoError("cancelled", "the upload was cancelled", "cancelled");

function refused(status: number, text: string): RialtoError {
  try {
    const body = JSON.parse(text) as { code?: string; message?: string; reason?: string };
    return new RialtoError(body.code ?? "unknown", body.message ?? text, body.reason);
  } catch {
    return new RialtoError(status >= 500 ? "unavailable" : "invalid_argument", `the server answered ${status}`);
  }
}
