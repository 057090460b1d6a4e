import type { ServerFrame } from "./gen/rialto/gateway/v1/gateway_pb.js";
import { Backoff } from "./backoff.js";
import { decodeFrame, encodeFrame, subprotocol, type ClientFrameInit, type Format } from "./codec.js";
import { asError } from "./errors.js";
import type { Place } from "./gateways.js";
import { IdleSearch } from "./idleSearch.js";

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
  /** Where the next try goes. */
  place: () => Promise<Place>;
  format: Format;
  WebSocket: WebSocketConstructor;
  /** Whether this device has all but the last events: in a reconnect storm such devices go first. */
  resumes: () => boolean;
  /** A ticket, good for one handshake. Throws where the server cannot be reached, or refuses. */
  ticket: (place: Place) => Promise<string>;
  backoff: Backoff;
  random: () => number;
  /** From the start of a try, its ticket included, to Hello. */
  openTimeoutMs: number;
  onState: (state: SocketState, why: SocketEnd | undefined) => void;
  onFrame: (frame: ServerFrame) => void;
  /** The last place led to a node; or it did not lead to a connection, or its node stops. */
  onOpened: (node: string) => void;
  onFailed: () => void;
}

/** Why a connection ended. Stay: the server asked not to come back. */
export interface SocketEnd {
  code: number;
  reason: string;
  stay: boolean;
}

/** A connection that held for this long counts as good: the next loss starts with short waits again. */
const stableMs = 10_000;
/** Close code: the node stops. */
const closeDrain = 4000;
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
  /** The longest heartbeat that the server allows in the background; 0: it knows of none. */
  private longestHeartbeatMs = 0;
  private background = false;
  /** Outlives connections: the next one has the same path. */
  private readonly search = new IdleSearch();
  /** How long the path was idle before the ping that is not answered yet; 0: no such ping. */
  private testedMs = 0;
  private sentMs = 0;
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

  /** In the background pings are sent less often: as often as the path needs. */
  setBackground(background: boolean): void {
    if (this.background === background) return;
    this.background = background;
    if (this.current === "open" && this.longestHeartbeatMs > this.heartbeatMs) this.ping(answerTimeoutMs); // it says when the next one comes
  }

  /** The network is another one, and so is the path. */
  networkChanged(): void {
    this.search.reset();
  }

  send(frame: ClientFrameInit): boolean {
    if (this.current !== "open" || !this.ws) return false;
    this.ws.send(encodeFrame(this.deps.format, frame) as never);
    this.sentMs = Date.now();
    // Where nothing was heard for a while the beat is not put off: it is what finds a dead path.
    if (this.sentMs - this.heardMs < this.intervalMs()) this.armBeat();
    return true;
  }

  private async connect(): Promise<void> {
    this.retryTimer = undefined;
    this.retryAtMs = 0;
    const attempt = ++this.attempt;
    const stale = () => attempt !== this.attempt || !this.wanted;
    // A node that takes the connection and says nothing must not keep us: the next try may lead to another.
    this.openTimer = setTimeout(() => this.lost({ code: 0, reason: "no answer", stay: false }), this.deps.openTimeoutMs);
    let place: Place;
    let ticket: string;
    try {
      place = await this.deps.place();
      if (stale()) return;
      ticket = await this.deps.ticket(place);
    } catch (err) {
      if (stale()) return;
      const e = asError(err);
      // Who we are is settled elsewhere (a login that ended stops us); anything else may pass.
      return this.lost({ code: 0, reason: e.message, stay: e.code === "unauthenticated" }, e.retryMs);
    }
    if (stale()) return;
    let ws: WebSocketLike;
    try {
      ws = new this.deps.WebSocket(`${place.ws}?ticket=${encodeURIComponent(ticket)}${this.deps.resumes() ? "&resume=1" : ""}`, [subprotocol(this.deps.format)]);
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
    if (this.testedMs) {
      this.search.kept(this.testedMs);
      this.testedMs = 0;
      this.armBeat();
    }
    let frame: ServerFrame;
    try {
      frame = decodeFrame(data);
    } catch (err) {
      return this.lost({ code: 0, reason: `bad frame: ${asError(err).message}`, stay: false });
    }
    if (frame.hello) {
      clearTimeout(this.openTimer);
      this.heartbeatMs = frame.hello.heartbeatMs || defaultHeartbeatMs;
      this.longestHeartbeatMs = frame.hello.longestHeartbeatMs;
      this.retries = this.tries;
      this.tries = 0;
      this.stableTimer = setTimeout(() => this.deps.backoff.reset(), stableMs);
      this.deps.onOpened(frame.hello.node);
      this.setState("open");
      if (this.backgroundBeats) this.ping(answerTimeoutMs);
      else this.armBeat();
    }
    if (frame.pong && this.pingSentMs) {
      this.rttMs = Date.now() - this.pingSentMs;
      this.pingSentMs = 0;
    }
    if (frame.bye) {
      if (frame.bye.code === closeDrain) this.deps.onFailed();
      this.byeRetryMs = frame.bye.retryMs;
      this.byeEnd = { code: frame.bye.code, reason: frame.bye.reason, stay: staysAway(frame.bye.code) };
    }
    this.deps.onFrame(frame);
  }

  private get backgroundBeats(): boolean {
    return this.background && this.longestHeartbeatMs > this.heartbeatMs;
  }

  /** Whether a time without frames has tested the path: not a short one, nor that of a machine that slept. */
  private tests(idleMs: number): boolean {
    return idleMs > this.heartbeatMs / 2 && idleMs < 2 * this.longestHeartbeatMs;
  }

  /** The time between two pings. */
  private intervalMs(): number {
    return this.backgroundBeats ? this.search.next(this.heartbeatMs, this.longestHeartbeatMs) : this.heartbeatMs;
  }

  private armBeat(): void {
    clearTimeout(this.beatTimer);
    // Up to a fifth early, so that many clients do not beat in step. A search needs the time itself, and is not in step anyway.
    const searching = this.backgroundBeats && !this.search.settled(this.heartbeatMs, this.longestHeartbeatMs);
    this.beatTimer = setTimeout(() => this.ping(answerTimeoutMs), this.intervalMs() * (searching ? 1 : 1 - 0.2 * this.deps.random()));
  }

  /** When the next ping comes at the latest, if that is not the usual time. A search may double the time once the present ping is answered. */
  private announcedMs(): number {
    if (!this.backgroundBeats) return 0;
    const interval = this.intervalMs();
    return Math.ceil(this.search.settled(this.heartbeatMs, this.longestHeartbeatMs) ? interval : Math.min(2 * interval, this.longestHeartbeatMs));
  }

  private ping(withinMs: number): void {
    this.pingSentMs = Date.now();
    const idleMs = this.pingSentMs - Math.max(this.sentMs, this.heardMs);
    if (this.backgroundBeats && this.tests(idleMs)) this.testedMs = Math.max(this.testedMs, idleMs);
    this.armBeat();
    this.send({ ping: { rttMs: this.rttMs, retries: this.retries, nextMs: this.announcedMs() } });
    // An earlier ping without answer keeps its time: repeating it must not put off the end.
    this.deadTimer ??= setTimeout(() => this.lost({ code: 0, reason: "no answer", stay: false }), withinMs);
  }

  private lost(end: SocketEnd, retryMs = 0): void {
    if (this.current === "open" && this.backgroundBeats) {
      // A proxy closes an idle connection before the ping. After a goodbye it was not idle.
      const idleMs = this.testedMs || Date.now() - Math.max(this.sentMs, this.heardMs);
      if (this.tests(idleMs)) this.search.dropped(idleMs);
    }
    if (this.current !== "open") this.deps.onFailed();
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
    this.pingSentMs = this.testedMs = this.sentMs = 0;
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
