import type { ServiceClient } from "./api.js";
import type { Edges } from "./edges.js";
import { RialtoError, isOffline } from "./errors.js";
import type { MediaService } from "./gen/rialto/chat/v1/media_pb.js";
import type { Speed } from "./speed.js";

/** Told how many bytes have gone, of how many, and how fast. */
export type Progress = (sent: number, total: number, speed: Speed) => void;

export type Media = ServiceClient<typeof MediaService>;

/** Where files go: through an edge, and where that does not take them, to the deployment itself. */
export interface FileAddress {
  url: string;
  fetch: typeof fetch;
  edges: Pick<Edges, "ready" | "place" | "replace" | "other">;
}

/** An edge that takes no more bytes for this time does not answer. */
const silenceMs = 30_000;
/** The time for the answer after the last byte: an edge gives the server two minutes, and bytes may still be on their way. */
const answerMs = 150_000;

/** Puts bytes to a URL that the server gave for them: through the best edge, and elsewhere where that does not answer, or fails. */
export async function putThroughEdges(to: FileAddress, url: string, bytes: Blob, progress?: (sent: number) => void, signal?: AbortSignal, headers: Record<string, string> = {}): Promise<void> {
  const { edges } = to;
  await edges.ready();
  const given = new URL(url, to.url).origin;
  const tried = new Set<string>();
  for (let at = edges.place(url, tried, "send"); ; ) {
    const put = new URL(at).origin === given ? putFile : putUnlessSilent;
    try {
      return await put(at, bytes, to.fetch, progress, signal, headers);
    } catch (err) {
      if (!isOffline(err)) throw err;
      tried.add(new URL(at).origin);
      const busy = err instanceof RialtoError && err.reason === "busy"; // it has too many uploads at the moment
      const other = busy ? edges.other(at, tried, "send") : edges.replace(at, tried, "send");
      if (other === undefined) throw err;
      at = other;
    }
  }
}

/** putFile that gives up where no more bytes are taken, as far as the platform says how many are. */
async function putUnlessSilent(url: string, file: Blob, fetchFn: typeof fetch, progress?: (sent: number) => void, signal?: AbortSignal, headers: Record<string, string> = {}): Promise<void> {
  if (typeof XMLHttpRequest === "undefined") return putFile(url, file, fetchFn, progress, signal, headers);
  const silence = new AbortController();
  let timer = setTimeout(() => silence.abort(), silenceMs);
  const heard = (sent: number) => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), sent < file.size ? silenceMs : answerMs);
    progress?.(sent);
  };
  try {
    await putFile(url, file, fetchFn, heard, signal ? AbortSignal.any([signal, silence.signal]) : silence.signal, headers);
  } catch (err) {
    throw silence.signal.aborted && !signal?.aborted ? lost() : err;
  } finally {
    clearTimeout(timer);
  }
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
