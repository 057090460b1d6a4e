import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Backoff } from "../../src/backoff.js";
import { ClientFrameSchema, ServerFrameSchema, type ServerFrame } from "../../src/gen/rialto/gateway/v1/gateway_pb.js";
import { IdleSearch } from "../../src/idleSearch.js";
import { Socket, type WebSocketConstructor } from "../../src/socket.js";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

const heartbeatMs = 5_000;
const longestMs = 300_000;
const graceMs = 30_000;

/** A server behind a path that silently drops connections which were idle for too long. */
class Path {
  /** How long the path keeps an idle connection; the client cannot see it. */
  keepsMs = Infinity;
  /** A proxy, which does not drop idle connections but closes them. */
  closes = false;
  opened = 0;
  pings: { atMs: number; nextMs: number }[] = [];
  /** Connections that the server closed since no ping came as announced. */
  silent = 0;
  /** What the server has for the client, and what the client got: it syncs when a connection opens. */
  stored = 0;
  received = 0;
  current: { alive: () => boolean; say: (f: object) => void; close: () => void } | undefined;

  readonly WebSocket: WebSocketConstructor;

  constructor() {
    const path = this;
    this.WebSocket = class {
      binaryType = "";
      readyState = 1;
      onmessage: ((e: { data: ArrayBuffer }) => void) | null = null;
      onopen = null;
      onclose: ((e: { code: number; reason: string }) => void) | null = null;
      onerror = null;
      private usedMs = Date.now();
      private dropped = false;
      private closed = false;
      private idle: ReturnType<typeof setTimeout> | undefined;
      private silence: ReturnType<typeof setTimeout> | undefined;
      constructor() {
        path.opened++;
        path.current = { alive: () => this.passes(), say: (f) => this.say(f), close: () => this.close() };
        this.expectPing(heartbeatMs);
        setTimeout(() => {
          path.received = path.stored; // the sync after hello
          this.say({ hello: { heartbeatMs, longestHeartbeatMs: longestMs, node: "n" } });
        }, 0);
      }
      /** Whether the path carries something now. */
      private passes(): boolean {
        if (Date.now() - this.usedMs > path.keepsMs) this.dropped = true;
        if (!this.dropped) this.usedMs = Date.now();
        clearTimeout(this.idle);
        if (path.closes && !this.closed) this.idle = setTimeout(() => this.onclose?.({ code: 1006, reason: "" }), path.keepsMs);
        return !this.dropped && !this.closed;
      }
      private expectPing(withinMs: number): void {
        clearTimeout(this.silence);
        this.silence = setTimeout(() => {
          if (!this.closed && !this.dropped) path.silent++;
        }, withinMs + graceMs);
      }
      private say(frame: object): void {
        if (this.passes()) this.onmessage?.({ data: toBinary(ServerFrameSchema, create(ServerFrameSchema, frame)).buffer as ArrayBuffer });
      }
      send(data: Uint8Array): void {
        if (!this.passes()) return;
        const { ping } = fromBinary(ClientFrameSchema, data);
        this.expectPing(ping?.nextMs || heartbeatMs);
        if (!ping) return;
        path.pings.push({ atMs: Date.now(), nextMs: ping.nextMs });
        setTimeout(() => this.say({ pong: {} }), 10);
      }
      close(): void {
        this.closed = true;
        clearTimeout(this.idle);
        clearTimeout(this.silence);
      }
    } as unknown as WebSocketConstructor;
  }

  /** Something is stored for the client, and pushed: on a path that dropped the connection the push is lost. */
  push(): void {
    this.stored++;
    this.current?.say({ typing: {} });
  }
}

function socket(path: Path): Socket {
  return new Socket({
    place: () => Promise.resolve({ ws: "ws://host/v1/socket", http: "" }), format: "proto", WebSocket: path.WebSocket, ticket: () => Promise.resolve("t"), backoff: new Backoff(() => 0),
    random: () => 0, openTimeoutMs: 5_000, onState: () => {}, resumes: () => false, onOpened: () => {}, onFailed: () => {},
    onFrame: (f: ServerFrame) => {
      if (f.typing) path.received++;
    },
  });
}

/** The time between the last two pings. */
const lastInterval = (path: Path) => path.pings.at(-1)!.atMs - path.pings.at(-2)!.atMs;

test.each([
  { keepsMs: 40_000, closes: false },
  { keepsMs: 65_000, closes: false },
  { keepsMs: 120_000, closes: true },
  { keepsMs: 290_000, closes: false },
])("in the background a client finds that its path keeps an idle connection for $keepsMs ms, and stays below; the path closes it: $closes", async ({ keepsMs, closes }) => {
  const path = new Path();
  Object.assign(path, { keepsMs, closes });
  const s = socket(path);
  s.start();
  await vi.advanceTimersByTimeAsync(60_000);
  s.setBackground(true);
  await vi.advanceTimersByTimeAsync(3 * 3_600_000);
  const opened = path.opened;
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(path.opened).toBe(opened); // the search is over
  expect(lastInterval(path)).toBeLessThanOrEqual(keepsMs);
  expect(lastInterval(path)).toBeGreaterThanOrEqual(keepsMs - Math.max(2 * 5_000, keepsMs / 4));
  expect(opened).toBeLessThanOrEqual(14); // bisected, not tried one by one
  expect(path.silent).toBe(0); // each ping came as announced
  s.stop();
});

test("a path that keeps connections gets the longest heartbeat that the server allows, without losing one", async () => {
  const path = new Path();
  const s = socket(path);
  s.start();
  s.setBackground(true);
  await vi.advanceTimersByTimeAsync(7_200_000);
  expect(path.opened).toBe(1);
  expect(path.silent).toBe(0);
  expect(lastInterval(path)).toBeGreaterThanOrEqual(longestMs);
  s.stop();
});

test("in the foreground the heartbeat is fixed, and the server is told so at once", async () => {
  const path = new Path();
  path.keepsMs = 100_000;
  const s = socket(path);
  s.start();
  s.setBackground(true);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(path.pings.at(-1)!.nextMs).toBeGreaterThan(50_000);
  s.setBackground(false);
  expect(path.pings.at(-1)).toEqual({ atMs: Date.now(), nextMs: 0 });
  const before = path.pings.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(path.pings.length - before).toBe(60_000 / heartbeatMs);
  s.stop();
});

test("what is pushed onto a path that dropped the connection comes with the next connection: nothing is lost", async () => {
  const path = new Path();
  path.keepsMs = 50_000;
  const s = socket(path);
  s.start();
  s.setBackground(true);
  for (let i = 0; i < 60; i++) {
    await vi.advanceTimersByTimeAsync(117_000); // the path is idle for long enough to be dropped in between
    path.push();
  }
  expect(path.opened).toBeGreaterThan(2);
  await vi.advanceTimersByTimeAsync(longestMs + 20_000);
  expect(path.received).toBe(path.stored);
  expect(path.silent).toBe(0);
  s.stop();
});

test("one loss for another reason does not shorten the heartbeat for good; a new network begins anew", () => {
  const search = new IdleSearch();
  const next = () => search.next(heartbeatMs, longestMs);
  search.kept(80_000);
  search.dropped(160_000);
  expect(next()).toBe(160_000);
  search.kept(160_000); // it was something else
  expect(next()).toBe(longestMs);
  search.kept(longestMs);
  expect(search.settled(heartbeatMs, longestMs)).toBe(true);
  search.dropped(longestMs);
  search.dropped(longestMs);
  expect(next()).toBeLessThan(longestMs); // the path is another one
  search.reset();
  expect(next()).toBe(2 * heartbeatMs);
});
