import { create, toBinary } from "@bufbuild/protobuf";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Backoff } from "../../src/backoff.js";
import { ServerFrameSchema } from "../../src/gen/rialto/gateway/v1/gateway_pb.js";
import { Socket, type WebSocketConstructor } from "../../src/socket.js";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** A connection that takes what is sent; `answers` says whether pings are answered. */
class Line {
  static open: Line[] = [];
  static answers = true;
  binaryType = "";
  readyState = 1;
  sent = 0;
  closed = false;
  onmessage: ((e: { data: ArrayBuffer }) => void) | null = null;
  onopen = null;
  onclose = null;
  onerror = null;
  constructor() {
    Line.open.push(this);
    setTimeout(() => this.say({ hello: { heartbeatMs: 5_000 } }), 0);
  }
  say(frame: object): void {
    this.onmessage?.({ data: toBinary(ServerFrameSchema, create(ServerFrameSchema, frame)).buffer as ArrayBuffer });
  }
  send(): void {
    this.sent++;
    if (Line.answers) setTimeout(() => this.say({ pong: {} }), 10);
  }
  close(): void {
    this.closed = true;
  }
}

function socket(): Socket {
  Line.open = [];
  Line.answers = true;
  return new Socket({
    place: () => Promise.resolve({ ws: "ws://host/v1/socket", http: "" }), format: "proto", WebSocket: Line as unknown as WebSocketConstructor, ticket: () => Promise.resolve("t"), backoff: new Backoff(() => 0),
    random: () => 0, openTimeoutMs: 5_000, onState: () => {}, onFrame: () => {}, resumes: () => false, onOpened: () => {}, onFailed: () => {},
  });
}

test("a node that answers is stayed with; one that answers no ping is left within 10 seconds of it, though the connection stays open", async () => {
  const s = socket();
  s.start();
  await vi.advanceTimersByTimeAsync(600_000);
  expect(Line.open.length).toBe(1);
  Line.answers = false; // as a process that was stopped
  await vi.advanceTimersByTimeAsync(5_000 + 9_000);
  expect(Line.open.length).toBe(1);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(Line.open.length).toBe(2);
  expect(Line.open[0]!.closed).toBe(true);
  s.stop();
});

test("sending does not hide that nothing comes back", async () => {
  const s = socket();
  s.start();
  await vi.advanceTimersByTimeAsync(1_000);
  Line.answers = false;
  for (let second = 0; second < 20 && Line.open.length === 1; second++) {
    s.send({ typing: "7" });
    await vi.advanceTimersByTimeAsync(1_000);
  }
  expect(Line.open.length).toBe(2);
  s.stop();
});
