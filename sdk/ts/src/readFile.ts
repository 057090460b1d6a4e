import { RialtoError, isOffline } from "./errors.js";
import type { Edges } from "./edges.js";
import { codeOfStatus } from "./http.js";

/** A server that sends nothing for this time does not answer. */
const silenceMs = 10_000;

/** Reads a file at an address, into memory: from elsewhere where an edge does not answer, falls silent, or fails with 5xx. It rejects with a RialtoError. */
export async function readFile(edges: Edges, fetchFn: typeof fetch, address: string, signal?: AbortSignal): Promise<Blob> {
  const tried = new Set<string>();
  for (let at = edges.current(address); ; ) {
    try {
      return await readFrom(at, fetchFn, signal);
    } catch (err) {
      if (!isOffline(err)) throw err;
      tried.add(new URL(at).origin);
      const other = edges.replace(at, tried);
      if (other === undefined) throw err;
      at = other;
    }
  }
}

async function readFrom(url: string, fetchFn: typeof fetch, signal?: AbortSignal): Promise<Blob> {
  const silence = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silence.abort(), silenceMs);
  };
  heard();
  try {
    const answer = await fetchFn(url, { signal: signal ? AbortSignal.any([signal, silence.signal]) : silence.signal });
    if (!answer.ok) throw new RialtoError(codeOfStatus(answer.status), `the server answered ${answer.status}`);
    const parts: BlobPart[] = [];
    for (const reader = answer.body?.getReader(); reader; ) {
      heard();
      const { done, value } = await reader.read();
      if (done) break;
      parts.push(value);
    }
    return new Blob(parts, { type: answer.headers.get("Content-Type") ?? "" });
  } catch (err) {
    silence.abort(); // what is still coming is not wanted
    if (err instanceof RialtoError) throw err;
    if (signal?.aborted) throw new RialtoError("canceled", "the reading of the file was cancelled", "canceled");
    throw new RialtoError("unavailable", "the file could not be read; try again", "offline", 1_000);
  } finally {
    clearTimeout(timer);
  }
}
