import { Backoff } from "./backoff.js";
import { inBackground } from "./background.js";
import type { Hello, ServerFrame } from "./gen/rialto/gateway/v1/gateway_pb.js";
import { Gateways } from "./gateways.js";
import { PushLag } from "./lag.js";
import type { Marks } from "./marks.js";
import type { ConnectionState, Resolved } from "./options.js";
import type { Outbox } from "./outbox.js";
import type { People } from "./people.js";
import { Polling } from "./polling.js";
import type { ReaderLists } from "./readers.js";
import type { ShownPosts } from "./shown.js";
import { type StreamPosition } from "./position.js";
import type { Replica } from "./replica.js";
import type { Rooms } from "./rooms.js";
import type { StreamedMessages } from "./streamed.js";
import type { Services } from "./services.js";
import type { ServerCopy } from "./serverCopy.js";
import { Socket, type SocketEnd, type SocketState } from "./socket.js";
import { watchActivity } from "./activity.js";
import { Activity } from "./gen/rialto/presence/v1/presence_pb.js";
import { watchWindow } from "./windows.js";

const failuresBeforePolling = 3;
/** Close codes with which the server forbids this socket, while the login is still good: calls go on by HTTP. */
const socketRefused: readonly number[] = [4100, 4103];

export interface ConnectionDeps {
  options: Resolved;
  services: Services;
  people: People;
  rooms: Rooms;
  streamed: StreamedMessages;
  readers: ReaderLists;
  shownPosts: ShownPosts;
  replica: Replica;
  outbox: Outbox;
  marks: Marks;
  copies: readonly ServerCopy<unknown>[];
  state: () => ConnectionState;
  setState: (s: ConnectionState) => void;
  onChange: () => void;
  /** Posts are new in the home timeline. */
  onPosts: (posts: { post: string; author: string }[]) => void;
  /** Notifications are new, or were read on another device. */
  onNotifications: () => void;
  /** Moderators have warned the user, or a warning was acknowledged on another device. */
  onDecisions: () => void;
  /** The server said to stay away: as of a session that ended, or was replaced. */
  onEnded: (reason: string) => void;
}

/** Connection keeps the socket open, gives its frames to those whom they concern, and polls where no socket is to be had. */
export class Connection {
  readonly lag: PushLag;
  private readonly socket: Socket;
  private readonly polling: Polling;
  private stopped = false;
  private ignoreWindow = () => {};
  private ignoreActivity = () => {};
  /** What this device says of itself; undefined until it says something. */
  private activity: Activity | undefined;
  /** What the server said of a map, with the last hello: the pattern of mapUrl. */
  mapPattern = "";

  constructor(private readonly deps: ConnectionDeps) {
    const { options, services, replica } = deps;
    this.lag = new PushLag({ sync: () => replica.stream.sync(), now: options.now, random: options.random });
    const gateways = new Gateways({ ...options, find: (r, signal) => services.gatewayApi.findGateways(r, { signal }) });
    this.socket = new Socket({
      place: () => gateways.next(),
      resumes: () => replica.data.position !== undefined,
      onOpened: (node) => gateways.opened(node),
      onFailed: () => gateways.fail(),
      format: options.format,
      WebSocket: options.WebSocket,
      ticket: async ({ http }) => (await services.account.createTicket({}, { base: http })).ticket,
      backoff: new Backoff(options.random, 500, 30_000),
      random: options.random,
      openTimeoutMs: options.openTimeoutMs,
      onState: (s, why) => this.onSocket(s, why),
      onFrame: (f) => this.onFrame(f),
    });
    this.polling = new Polling({
      ...deps,
      chat: services.chat,
      random: options.random,
      now: options.now,
      needed: () => !this.stopped && (this.socket.state === "waiting" || this.socket.state === "stopped"),
      withoutSockets: !options.WebSocket,
    });
  }

  start(): void {
    this.deps.setState("connecting");
    if (this.deps.options.WebSocket) this.socket.start();
    else this.polling.start(); // as in Node before 22
    this.ignoreActivity = watchActivity(this.deps.options.idleMs, this.deps.options.now, (away) => this.setAway(away));
    this.ignoreWindow = watchWindow({
      wake: () => this.socket.wake(), probe: () => this.socket.probe(),
      hide: (hidden) => this.socket.setBackground(hidden && this.deps.options.backgroundHeartbeats),
      changed: () => this.socket.networkChanged(),
    });
  }

  stop(): void {
    this.stopped = true;
    this.ignoreWindow();
    this.ignoreActivity();
    this.polling.stop();
    this.socket.stop();
    this.lag.stop();
  }

  /** Closes the socket, without an end of the session; resume opens one again. */
  pause(): void {
    this.socket.stop();
  }

  resume(): void {
    this.socket.start();
  }

  /** Tries to connect at once where the next try is planned for later. */
  wake(): void {
    this.socket.wake();
  }

  /** When the next try to connect comes; 0 when none is planned. */
  get retryAtMs(): number {
    return this.socket.retryAtMs;
  }

  /** Tells whether this device is idle or in the background, now and on later sockets. */
  setAway(away: boolean): void {
    const activity = away ? Activity.AWAY : Activity.ACTIVE;
    if (this.activity === activity) return;
    this.activity = activity;
    this.socket.send({ activity });
  }

  /** Says that the app is in the background, where nothing but the app knows. */
  setBackground(background: boolean): void {
    this.socket.setBackground(background);
  }

  /** Sends a frame; false where there is no socket. */
  send(frame: Parameters<Socket["send"]>[0]): boolean {
    return this.socket.send(frame);
  }

  /** Sends messages by the socket, or soon by polling. */
  sendMessages(sends: Parameters<Socket["send"]>[0]["sends"]): boolean {
    if (this.socket.send({ sends })) return true;
    this.polling.soon();
    return false;
  }

  private onSocket(s: SocketState, why: SocketEnd | undefined): void {
    if (this.stopped) return;
    const { outbox, marks, state, setState, onChange, onEnded } = this.deps;
    if (s !== "open") {
      this.lag.stop();
      outbox.closed();
      marks.closed();
    }
    if (s === "waiting") {
      if (state() !== "polling") setState("offline");
      onChange(); // when the next try comes has changed
      if (this.socket.failures >= failuresBeforePolling) this.polling.start();
    } else if (s === "connecting") setState("connecting");
    else if (s === "stopped" && why) {
      if (!socketRefused.includes(why.code)) return onEnded(why.reason);
      setState("offline");
      this.polling.start();
    }
  }

  private onFrame(f: ServerFrame): void {
    const { replica, outbox, people, rooms } = this.deps;
    if (this.stopped) return;
    this.lag.clock(Number(f.hello?.timeMs ?? f.pong?.timeMs ?? 0n));
    if (f.hello) inBackground(this.greeted(f.hello));
    for (const a of f.accepted) outbox.accepted(Number(a.clientSeq));
    for (const r of f.receipts) inBackground(outbox.receipt(r));
    if (f.events.length > 0) replica.stream.pushed(f.events);
    if (f.hint && f.hint.conversations.length === 0) void replica.stream.sync();
    for (const l of f.hint?.conversations ?? []) replica.stream.grown(l);
    if (f.posts.length > 0) this.deps.onPosts(f.posts.map(({ post, author }) => ({ post, author })));
    if (f.notifications) this.deps.onNotifications();
    if (f.decisions) this.deps.onDecisions();
    for (const u of f.threads) replica.events.threadChanged(u);
    if (f.typing) people.typed(f.typing.conversation, f.typing.user);
    people.takePresences(f.presences);
    this.deps.readers.take(f.readers);
    this.deps.shownPosts.take(f.changedPosts);
    this.deps.streamed.take(f.streamed);
    rooms.took(f);
  }

  /** The socket is open: what waited for it goes, and what was missed is fetched. */
  private async greeted(hello: Hello): Promise<void> {
    const { replica, outbox, copies, people, rooms } = this.deps;
    this.polling.stop();
    this.mapPattern = hello.mapUrl;
    this.deps.setState("online");
    outbox.opened(Number(hello.clientSeq));
    replica.conversations.opened();
    if (this.activity !== undefined) this.socket.send({ activity: this.activity });
    if (people.watched.length > 0) this.socket.send({ watch: { users: [...people.watched] } });
    this.deps.readers.opened();
    this.deps.shownPosts.opened();
    rooms.opened();
    this.deps.streamed.opened();
    const tail: StreamPosition = { epoch: hello.tail?.epoch ?? 0, seq: Number(hello.tail?.seq ?? 0n) };
    await replica.stream.reconnected(tail);
    replica.conversations.wantUnknown();
    replica.history.refreshOpened();
    for (const copy of copies) await copy.refresh();
  }
}
