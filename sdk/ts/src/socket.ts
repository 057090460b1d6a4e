import type { ServerFrame } from "./gen/rialto/gateway/v1/gateway_pb.js";
import { Backoff } from "./backoff.js";
import { decodeFrame, encodeFrame, subprotocol, type ClientFrameInit, type Format } from "./codec.js";
import { asError } from "./errors.js";

/** connecting: first try · open: Hello was received · waiting: lost, tries again · stopped: will not try by itself. */
export type SocketState = "connecting" | "open" | "waiting" | "stopped";

/** The part of the WebSocket interface that is used: the browser's, Node's own and that of `ws` all have it. */
export interface WebSocketLike {
  binaryType: string;
  readonly readyState: number;
  onopen: ((e: never) => void) | null;
  onmessage: ((e: never) => void) | null;
  onclose: ((e: never) => void) | null;
  onerror: ((e: never) => void) | null;
  send(data: never): void;
  close(code?: number, reason?: string): void;
}
export type WebSocketConstructor = new (url: string, protocols: string[]) => WebSocketLike;

export interface SocketDeps {
  /** ws:// or wss:// URL of /v1/socket. */
  url: string;
  format: Format;
  WebSocket: WebSocketConstructor;
  /** A ticket, good for one handshake. Throws where the server cannot be reached, or refuses. */
  ticket: () => Promise<string>;
  backoff: Backoff;
  random: () => number;
  /** From the start of a try, its ticket included, to Hello. */
  openTimeoutMs: number;
  onState: (state: SocketState, why: SocketEnd | undefined) => void;
  onFrame: (frame: ServerFrame) => void;
}

/** Why a connection ended. Stay: the server asked not to come back. */
export interface SocketEnd {
  code: number;
  reason: string;
  stay: boolean;
}

/** A connection that held for this long counts as good: the next loss starts with short waits again. */
const stableMs = 10_000;
/** Close code: the credentials were not taken. The next try asks for a ticket, and so finds out whether the login is over. */
const closeAuth = 4101;
/** From a ping to any frame at all. */
const answerTimeoutMs = 10_000;
const defaultHeartbeatMs = 25_000;

/**
 * Socket keeps one connection up: opens it with a ticket, beats when nothing else was sent, notices a dead path, and comes
 * back with growing, jittered waits, as the server's Bye and close codes ask for. It knows nothing of what the frames mean
 * beyond Hello and Bye.
 */
export class Socket {
  private ws: WebSocketLike | undefined;
  private current: SocketState = "stopped";
  private wanted = false;
  private attempt = 0;
  private heartbeatMs = defaultHeartbeatMs;
  private byeRetryMs = 0;
  private byeEnd: SocketEnd | undefined;
  private rttMs = 0;
  private pingSentMs = 0;
  private heardMs = 0;
  private tries = 0;
  /** Tries that failed before the present connection opened. */
  private retries = 0;
  private stableTimer: Timer;
  private retryTimer: Timer;
  private openTimer: Timer;
  private beatTimer: Timer;
  private deadTimer: Timer;
  /** When the next try comes, for display; 0 when none is planned. */
  retryAtMs = 0;

  constructor(private readonly deps: SocketDeps) {}

  get state(): SocketState {
    return this.current;
  }

  /** Tries that failed since the connection was last open. */
  get failures(): number {
    return this.tries;
  }

  start(): void {
    if (this.wanted) return;
    this.wanted = true;
    this.setState("connecting");
    void this.connect();
  }

  stop(): void {
    this.wanted = false;
    this.drop();
    this.setState("stopped");
  }

  /** Tries at once if waiting, as when the network came back; a small jitter keeps whole offices apart. */
  wake(): void {
    if (!this.wanted || this.current === "open" || !this.retryTimer) return;
    clearTimeout(this.retryTimer);
    this.retryTimer = setTimeout(() => void this.connect(), this.deps.random() * 250);
    this.retryAtMs = 0;
  }

  /** Finds out quickly whether an open connection is still there, as when the network seems gone. */
  probe(): void {
    if (this.current !== "open") return;
    clearTimeout(this.deadTimer);
    this.deadTimer = undefined;
    this.ping(3_000);
  }

  send(frame: ClientFrameInit): boolean {
    if (this.current !== "open" || !this.ws) return false;
    this.ws.send(encodeFrame(this.deps.format, frame) as never);
    // Where nothing was heard for a while the beat is not put off: it is what finds a dead path.
    if (Date.now() - this.heardMs < this.heartbeatMs) this.armBeat();
    return true;
  }

  private async connect(): Promise<void> {
    this.retryTimer = undefined;
    this.retryAtMs = 0;
    const attempt = ++this.attempt;
    const stale = () => attempt !== this.attempt || !this.wanted;
    // A node that takes the connection and says nothing must not keep us: the next try may lead to another.
    this.openTimer = setTimeout(() => this.lost({ code: 0, reason: "no answer", stay: false }), this.deps.openTimeoutMs);
    let ticket: string;
    try {
      ticket = await this.deps.ticket();
    } catch (err) {
      if (stale()) return;
      const e = asError(err);
      // Who we are is settled elsewhere (a login that ended stops us); anything else may pass.
      return this.lost({ code: 0, reason: e.message, stay: e.code === "unauthenticated" }, e.retryMs);
    }
    if (stale()) return;
    let ws: WebSocketLike;
    try {
      ws = new this.deps.WebSocket(`${this.deps.url}?ticket=${encodeURIComponent(ticket)}`, [subprotocol(this.deps.format)]);
    } catch (err) {
      // No WebSocket here (Node before 22), or forbidden by a policy of the page.
      return this.lost({ code: 0, reason: asError(err).message, stay: false });
    }
    this.ws = ws;
    this.byeRetryMs = 0;
    this.byeEnd = undefined;
    ws.binaryType = "arraybuffer";
    ws.onmessage = (e: { data: string | ArrayBuffer }) => {
      if (ws === this.ws) this.receive(e.data);
    };
    ws.onerror = () => {};
    ws.onclose = (e: { code: number; reason: string }) => {
      if (ws !== this.ws) return;
      this.lost(this.byeEnd ?? { code: e.code, reason: e.reason, stay: staysAway(e.code) }, this.byeRetryMs);
    };
  }

  private receive(data: string | ArrayBuffer): void {
    clearTimeout(this.deadTimer);
    this.deadTimer = undefined;
    this.heardMs = Date.now();
    let frame: ServerFrame;
    try {
      frame = decodeFrame(data);
    } catch (err) {
      return this.lost({ code: 0, reason: `bad frame: ${asError(err).message}`, stay: false });
    }
    if (frame.hello) {
      clearTimeout(this.openTimer);
      this.heartbeatMs = frame.hello.heartbeatMs || defaultHeartbeatMs;
      this.retries = this.tries;
      this.tries = 0;
      this.stableTimer = setTimeout(() => this.deps.backoff.reset(), stableMs);
      this.setState("open");
      this.armBeat();
    }
    if (frame.pong && this.pingSentMs) {
      this.rttMs = Date.now() - this.pingSentMs;
      this.pingSentMs = 0;
    }
    if (frame.bye) {
      this.byeRetryMs = frame.bye.retryMs;
      this.byeEnd = { code: frame.bye.code, reason: frame.bye.reason, stay: staysAway(frame.bye.code) };
    }
    this.deps.onFrame(frame);
  }

  private armBeat(): void {
    clearTimeout(this.beatTimer);
    // Up to a fifth early, so that many clients do not beat in step.
    this.beatTimer = setTimeout(() => this.ping(answerTimeoutMs), this.heartbeatMs * (1 - 0.2 * this.deps.random()));
  }

  private ping(withinMs: number): void {
    this.pingSentMs = Date.now();
    this.armBeat();
    this.send({ ping: { rttMs: this.rttMs, retries: this.retries } });
    // An earlier ping without answer keeps its time: repeating it must not put off the end.
    this.deadTimer ??= setTimeout(() => this.lost({ code: 0, reason: "no answer", stay: false }), withinMs);
  }

  private lost(end: SocketEnd, retryMs = 0): void {
    this.drop();
    if (!this.wanted) return;
    if (end.stay) {
      this.wanted = false;
      return this.setState("stopped", end);
    }
    this.tries++;
    const wait = this.deps.backoff.next(retryMs);
    this.retryAtMs = Date.now() + wait;
    this.retryTimer = setTimeout(() => void this.connect(), wait);
    this.setState("waiting", end);
  }

  private drop(): void {
    this.attempt++;
    for (const t of [this.stableTimer, this.retryTimer, this.openTimer, this.beatTimer, this.deadTimer]) clearTimeout(t);
    this.stableTimer = this.retryTimer = this.openTimer = this.beatTimer = this.deadTimer = undefined;
    this.pingSentMs = 0;
    const ws = this.ws;
    this.ws = undefined;
    // The closing handshake is not waited for: on a dead path it never ends.
    if (ws) {
      try {
        ws.close(1000);
      } catch {
        // Already closed, or never opened.
      }
    }
  }

  private setState(state: SocketState, end?: SocketEnd): void {
    if (state === this.current && !end) return;
    this.current = state;
    this.deps.onState(state, end);
  }
}

function staysAway(code: number): boolean {
  return code >= 4100 && code <= 4199 && code !== closeAuth;
}

type Timer = ReturnType<typeof setTimeout> | undefined;
