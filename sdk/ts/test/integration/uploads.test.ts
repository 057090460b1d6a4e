import { afterAll, beforeAll, expect, test } from "vitest";
import { Upload as TusUpload, type UploadOptions } from "tus-js-client";
import { WebSocket } from "ws";
import { Client, memoryStorage, type WebSocketConstructor } from "../../src/index.js";
import { Server } from "./server.js";

const partSize = 5 << 20;
let server: Server;
let token: string;

beforeAll(async () => {
  server = await Server.start();
  const made = await call<{ accessToken: string }>("account.v1.AccountService/Register", { handle: "tus", password: "a good password", name: "Tus" });
  token = made.accessToken;
});
afterAll(() => server.stop());

async function call<T>(name: string, body: unknown): Promise<T> {
  const headers = { "Content-Type": "application/json", ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  const res = await fetch(`${server.url}/rialto.${name}`, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await res.text();
  if (!res.ok) throw new Error(text);
  return JSON.parse(text) as T;
}

function content(size: number): Buffer {
  const b = Buffer.alloc(size);
  for (let i = 0; i < size; i++) b[i] = i ^ (i >> 8) ^ (i >> 16);
  return b;
}

/** Completes an upload and downloads it. */
async function completed(upload: string): Promise<Buffer> {
  await call("chat.v1.MediaService/CompleteUpload", { upload });
  const { url } = await call<{ url: string }>("chat.v1.MediaService/GetDownload", { upload });
  return Buffer.from(await (await fetch(new URL(url, server.url))).arrayBuffer());
}

const idOf = (url: string | null) => url!.slice(url!.lastIndexOf("/") + 1);

/** Requests of tus-js-client, which is not changed: the methods in order, and the offsets that HEAD returned. */
interface Requests {
  methods: string[];
  offsets: number[];
}

function options(requests: Requests, more: Partial<UploadOptions> = {}): UploadOptions {
  return {
    endpoint: `${server.url}/v1/tus/`,
    headers: { Authorization: `Bearer ${token}` },
    metadata: { filename: "film.bin", filetype: "video/mp4" },
    retryDelays: [0, 100, 300, 1000, 3000],
    onAfterResponse(req, res) {
      requests.methods.push(req.getMethod());
      if (req.getMethod() === "HEAD") requests.offsets.push(Number(res.getHeader("Upload-Offset")));
    },
    ...more,
  };
}

/** Uploads by tus. `during` is told of each progress. */
function tus(file: Buffer, o: UploadOptions, during?: (sent: number, upload: TusUpload) => void): Promise<TusUpload> {
  return new Promise((resolve, reject) => {
    const upload: TusUpload = new TusUpload(file, { ...o, onError: reject, onProgress: (sent) => during?.(sent, upload), onSuccess: () => resolve(upload) });
    upload.start();
  });
}

test("tus-js-client goes on by itself after the server was killed", async () => {
  const file = content(6 * partSize + 1000);
  const requests: Requests = { methods: [], offsets: [] };
  let killed: Promise<void> | undefined;
  const upload = await tus(file, options(requests, { chunkSize: 2 * partSize }), (sent) => {
    if (sent > 2 * partSize && !killed) killed = server.kill().then(() => server.run());
  });
  await killed;
  expect(requests.methods.filter((m) => m === "POST")).toHaveLength(1);
  expect(requests.offsets.at(-1)).toBeGreaterThanOrEqual(2 * partSize); // what was acknowledged before the kill
  expect(requests.offsets.at(-1)! % partSize).toBe(0);
  expect(file.equals(await completed(idOf(upload.url)))).toBe(true);
});

test("tus-js-client is interrupted, and another one goes on with small chunks", async () => {
  const file = content(partSize + 2000);
  const requests: Requests = { methods: [], offsets: [] };
  const url = await new Promise<string>((resolve, reject) => {
    const first: TusUpload = new TusUpload(file, options(requests, {
      chunkSize: 1 << 20,
      onChunkComplete: (_size, accepted) => {
        if (accepted === 2 << 20) void first.abort().then(() => resolve(first.url!), reject);
      },
      onError: reject,
    }));
    first.start();
  });
  const second = await tus(file, options(requests, { uploadUrl: url, chunkSize: 3 << 20 }));
  expect(second.url).toBe(url);
  expect(requests.offsets).toEqual([2 << 20]);
  expect(file.equals(await completed(idOf(url)))).toBe(true);
});

test("tus-js-client uploads in parallel, and takes an upload back", async () => {
  const file = content(2 * partSize + 77);
  const requests: Requests = { methods: [], offsets: [] };
  const whole = await tus(file, options(requests, { parallelUploads: 2 }));
  expect(file.equals(await completed(idOf(whole.url)))).toBe(true);
  const taken = await tus(content(100), options(requests));
  await taken.abort(true);
  expect(requests.methods.at(-1)).toBe("DELETE");
  await expect(completed(idOf(taken.url))).rejects.toThrow("no_upload");
});

test("a file in parts goes on after the page was closed, with the parts that are missing", async () => {
  const size = 3 * partSize + (3 << 20);
  const storage = memoryStorage();
  const puts: string[] = [];
  const open = () =>
    new Client({
      url: server.url, storage, WebSocket: WebSocket as unknown as WebSocketConstructor, info: { name: "test", type: "test" },
      fetch: async (input, init) => {
        const answer = await fetch(input, init);
        if (init?.method === "PUT" && answer.ok) puts.push(String(input).replace(/^.*\/parts\/(\d+).*$/, "$1"));
        return answer;
      },
    });
  const file = () => new File([new Uint8Array(content(size))], "film.bin", { type: "video/mp4", lastModified: 1_800_000_000_000 });
  const before = open();
  await before.start();
  await before.register("parts", "a good password", "Parts");
  const stop = new AbortController();
  const interrupted = before.upload(file(), "film.bin", (sent) => {
    if (sent >= partSize) stop.abort();
  }, stop.signal);
  await expect(interrupted).rejects.toMatchObject({ reason: "cancelled" });
  before.close();
  const stored = [...puts];
  expect(stored.length).toBeGreaterThanOrEqual(1);
  expect(stored.length).toBeLessThan(4);
  await server.kill();
  await server.run();
  const after = open();
  await after.start();
  const speeds: number[] = [];
  const up = await after.upload(file(), "film.bin", (sent, total, speed) => {
    expect(total).toBe(size);
    if (sent === size) speeds.push(speed.bytesPerSecond);
  });
  expect(Number(up.size)).toBe(size);
  // No part goes again that was acknowledged. One that was on its way when it was interrupted may have been stored without an answer.
  expect(puts.length).toBeLessThanOrEqual(4);
  expect(puts.slice(stored.length).filter((part) => stored.includes(part))).toEqual([]);
  expect(speeds.at(-1)).toBeGreaterThan(0);
  after.close();
});
