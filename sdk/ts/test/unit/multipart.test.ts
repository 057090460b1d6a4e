import { createHash } from "node:crypto";
import { expect, test, vi } from "vitest";
import { RialtoError } from "../../src/errors.js";
import type { MultipartUpload } from "../../src/gen/rialto/chat/v1/media_pb.js";
import { Resumes, uploadParts, type UploadOptions } from "../../src/multipart.js";
import { SpeedMeter } from "../../src/speed.js";
import { memoryStorage } from "../../src/storage.js";
import type { Media } from "../../src/putFile.js";

const noEdges = { ready: async () => {}, place: (url: string) => new URL(url, "http://server").href, replace: () => undefined, other: () => undefined };

/** A server with parts of 10 bytes, which keeps what was put. */
class FakeServer {
  readonly stored = new Map<string, Map<number, string>>();
  /** Parts that are answered with an error, once. */
  readonly failing = new Set<number>();
  created = 0;
  size = 0;
  /** Each part has its checksum. */
  checksDigests = true;
  readonly purposes: string[] = [];
  readonly put: string[] = [];

  readonly media = {
    createMultipartUpload: async ({ size, purpose }: { size: bigint; purpose: string }) => {
      this.purposes.push(purpose);
      const upload = String(++this.created);
      this.size = Number(size);
      this.stored.set(upload, new Map());
      return this.state(upload);
    },
    getMultipartUpload: async ({ upload }: { upload: string }) => this.state(upload),
    signParts: async ({ upload, parts }: { upload: string; parts: number[] }) => ({ urls: parts.map((part) => `/${upload}/${part}`) }),
    completeUpload: async ({ upload }: { upload: string }) => ({ upload, text: [...this.parts(upload)].sort(([a], [b]) => a - b).map(([, text]) => text).join("") }),
  } as unknown as Media;

  readonly fetch = (async (url: string, init: { body: Blob; headers: Record<string, string> }) => {
    const [, upload = "", part = ""] = new URL(url).pathname.split("/");
    if (this.failing.delete(Number(part))) throw new TypeError("no network");
    if (this.checksDigests) expect(init.headers["Content-Digest"]).toMatch(/^sha-256=:.{44}:$/);
    const text = await init.body.text();
    const old = this.parts(upload).get(Number(part));
    if (old !== undefined && old !== text) return new Response(JSON.stringify({ code: "already_exists", reason: "part_differs" }), { status: 409 });
    this.put.push(`${upload}/${part}`);
    this.parts(upload).set(Number(part), text);
    return new Response(null);
  }) as unknown as typeof fetch;

  private parts(upload: string): Map<number, string> {
    const parts = this.stored.get(upload);
    if (!parts) throw new RialtoError("not_found", "there is none", "no_upload");
    return parts;
  }

  private state(upload: string): MultipartUpload {
    const parts = Math.ceil(this.size / 10);
    const missing = Array.from({ length: parts }, (_, i) => i + 1).filter((n) => !this.parts(upload).has(n));
    const checksums = [...this.parts(upload)].sort(([a], [b]) => a - b).map(([, text]) => new Uint8Array(createHash("sha256").update(text).digest()));
    return { upload, size: BigInt(this.size), partSize: 10n, parts, missing, expiresMs: 0, checksums } as unknown as MultipartUpload;
  }

  async upload(file: Blob, resumes: Resumes, options: UploadOptions = {}): Promise<string> {
    const up = await uploadParts(this.media, { url: "http://server", fetch: this.fetch, edges: noEdges }, file, "a", { resumes, ...options });
    return (up as unknown as { text: string }).text;
  }
}

const text = "0123456789abcdefghij0123456789ABCDEFGHIJxyz";
const file = () => new File([text], "a", { lastModified: 7 });

test("an interrupted file goes on with the missing parts, also when it is chosen again", async () => {
  const server = new FakeServer();
  const store = await memoryStorage().open("me");
  server.failing.add(3);
  await expect(server.upload(file(), new Resumes(store))).rejects.toMatchObject({ code: "unavailable" });
  const before = new Map(server.stored.get("1"));
  expect(before.has(3)).toBe(false);
  expect(await server.upload(file(), new Resumes(store))).toBe(text);
  expect(server.created).toBe(1);
  expect(await server.upload(file(), new Resumes(store))).toBe(text); // it was forgotten when it was complete
  expect(server.created).toBe(2);
});

test("bytes that are no file go on while the page is open", async () => {
  const server = new FakeServer();
  const store = await memoryStorage().open("me");
  const bytes = new Blob([text]);
  const resumes = new Resumes(store);
  server.failing.add(1);
  await expect(server.upload(bytes, resumes)).rejects.toMatchObject({ code: "unavailable" });
  expect(await server.upload(bytes, resumes)).toBe(text);
  expect(server.created).toBe(1);
});

test("what the server no longer has begins again", async () => {
  const server = new FakeServer();
  const store = await memoryStorage().open("me");
  server.failing.add(5);
  await expect(server.upload(file(), new Resumes(store))).rejects.toBeDefined();
  server.stored.delete("1");
  expect(await server.upload(file(), new Resumes(store))).toBe(text);
  expect(server.created).toBe(2);
});

test("another file that looks the same begins again", async () => {
  const server = new FakeServer();
  const resumes = new Resumes(await memoryStorage().open("me"));
  const state = await server.media.createMultipartUpload({ name: "a", mimeType: "", size: BigInt(text.length) });
  await resumes.remember(file(), state.upload);
  server.stored.get("1")!.set(4, "something!");
  const put = server.fetch;
  const races = { ...server.media, getMultipartUpload: async () => state } as Media; // another page stores a part meanwhile
  const up = await uploadParts(races, { url: "http://server", fetch: put, edges: noEdges }, file(), "a", { resumes });
  expect((up as unknown as { text: string }).text).toBe(text);
  expect(server.created).toBe(2);
});

test("an upload of another device goes on with the same file, and with no other one", async () => {
  const server = new FakeServer();
  const device = async () => new Resumes(await memoryStorage().open("me"));
  server.failing.add(5);
  const begun = vi.fn();
  await expect(server.upload(file(), await device(), { purpose: "video", begun })).rejects.toBeDefined();
  expect([server.purposes, begun.mock.calls]).toEqual([["video"], [["1"]]]);
  const [stored, sent] = [server.stored.get("1")!.size, server.put.length];
  expect(stored).toBeGreaterThan(0);
  const differ = { reason: "part_differs" };
  await expect(server.upload(new File([text.replace("0", "-")], "a"), await device(), { upload: "1" })).rejects.toMatchObject(differ);
  await expect(server.upload(new File([`${text}!`], "a"), await device(), { upload: "1" })).rejects.toMatchObject(differ);
  expect([server.created, server.put.length]).toEqual([1, sent]);
  begun.mockClear();
  expect(await server.upload(file(), await device(), { upload: "1", begun })).toBe(text);
  expect([server.created, server.put.length - sent, begun.mock.calls]).toEqual([1, 5 - stored, [["1"]]]);
});

test("where checksums cannot be computed, the server compares", async () => {
  const server = new FakeServer();
  const store = async () => new Resumes(await memoryStorage().open("me"));
  server.failing.add(5);
  await expect(server.upload(file(), await store())).rejects.toBeDefined();
  vi.stubGlobal("crypto", {});
  server.checksDigests = false;
  try {
    await expect(server.upload(new File([text.replace("0", "-")], "a"), await store(), { upload: "1" })).rejects.toMatchObject({ reason: "part_differs" });
    expect(await server.upload(file(), await store(), { upload: "1" })).toBe(text);
  } finally {
    vi.unstubAllGlobals();
  }
  expect(server.created).toBe(1);
});

test("an upload to be continued that is gone begins again", async () => {
  const server = new FakeServer();
  const begun = vi.fn();
  expect(await server.upload(file(), new Resumes(await memoryStorage().open("me")), { upload: "77", begun })).toBe(text);
  expect([server.created, begun.mock.calls]).toEqual([1, [["1"]]]);
});

test("the speed is that of the last seconds, and says how long the rest takes", () => {
  let now = 0;
  const meter = new SpeedMeter(1_000, 11_000, () => now);
  expect(meter.add(1_000)).toEqual({ bytesPerSecond: 0 });
  now = 1_000;
  expect(meter.add(2_000)).toEqual({ bytesPerSecond: 1_000, remainingMs: 9_000 });
  for (now = 2_000; now <= 20_000; now += 1_000) meter.add(2_000 + (now / 1_000) * 100);
  expect(meter.add(4_000).bytesPerSecond).toBe(80);
});
