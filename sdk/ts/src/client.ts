import { create } from "@bufbuild/protobuf";
import { serviceClient, type Invoke, type ServiceClient } from "./api.js";
import { Auth, type ClientInfo, type Login } from "./auth.js";
import { Backoff } from "./backoff.js";
import { samePosition, type StreamPosition } from "./chain.js";
import type { Format } from "./codec.js";
import { Emitter } from "./emitter.js";
import { RialtoError, asError, isOffline } from "./errors.js";
import { AccountService, GraphService, type Session, type User as UserPb } from "./gen/rialto/account/v1/account_pb.js";
import { ChatService } from "./gen/rialto/chat/v1/chat_pb.js";
import { MediaService, type Upload } from "./gen/rialto/chat/v1/media_pb.js";
import { ContentSchema, type Content } from "./gen/rialto/chat/v1/message_pb.js";
import type { Hello, ServerFrame } from "./gen/rialto/gateway/v1/gateway_pb.js";
import { PresenceService, Status } from "./gen/rialto/presence/v1/presence_pb.js";
import { post } from "./http.js";
import { indexedDBStorage } from "./indexeddb.js";
import { Marks } from "./marks.js";
import { badge, compareConversations, toUser, type ChatMessage, type ConversationView, type JoinRequests, type OutgoingMessage, type PendingSettings, type Relation, type User } from "./model.js";
import { Outbox } from "./outbox.js";
import { Replica } from "./replica.js";
import { Socket, type SocketEnd, type SocketState, type WebSocketConstructor } from "./socket.js";
import { memoryStorage, type Storage, type Store } from "./storage.js";
import { putFile, type Progress } from "./upload.js";

/** signed-out · connecting: first try · online · polling: no socket, but calls get through · offline. */
export type ConnectionState = "signed-out" | "connecting" | "online" | "polling" | "offline";

export interface PresenceView {
  online: boolean;
  lastActiveMs: number;
}

export interface ClientOptions {
  /** Address of the deployment, as https://chat.example.com; in a browser, by default, the page's own. */
  url?: string;
  /** What the device keeps: IndexedDB in browsers, memory elsewhere, by default. */
  storage?: Storage;
  format?: Format;
  /** What the session list shows of this device. */
  info?: ClientInfo;
  WebSocket?: WebSocketConstructor;
  fetch?: typeof fetch;
  now?: () => number;
  random?: () => number;
  /** How long a try to connect may take, from its ticket to the server's first word, before the next; 10 s unless set. */
  openTimeoutMs?: number;
}

export interface ClientEvents {
  /** Something that snapshots show has changed. Comes at most once per turn of the event loop. */
  change: undefined;
  connection: ConnectionState;
  /**
   * A message of somebody else came by the stream: in order, once; also those sent while this device was away. Not what a new
   * device, or one away for too long, finds in the lists that it starts with; and of large groups only what is pushed.
   */
  message: ChatMessage;
  /** Somebody asked to join a group that this user manages, or was answered. */
  joinRequests: JoinRequests;
  /** The login ended: by this user elsewhere, by the server, or by a newer device. */
  ended: { reason: string };
}

const retryPollMs = 5_000;
const failuresBeforePolling = 3;
/** Close codes with which the server forbids this socket, while the login is still good: calls go on by HTTP. */
const socketRefused: readonly number[] = [4100, 4103];
const usersFreshMs = 8 * 3_600_000;
const typingShownMs = 4_000;

/** The store's key of a device's count of messages. */
function counterKey(device: string): string {
  return `client_seq/${device}`;
}

/**
 * Client is one login on one device. It hides connecting, resending, syncing, gaps and storage: what it shows is what the
 * server has, together with what the user did here and the server has not confirmed. Snapshots are replaced, never changed.
 */
export class Client {
  readonly account: ServiceClient<typeof AccountService>;
  readonly graph: ServiceClient<typeof GraphService>;
  readonly chat: ServiceClient<typeof ChatService>;
  readonly media: ServiceClient<typeof MediaService>;
  readonly presenceApi: ServiceClient<typeof PresenceService>;

  private readonly options: Required<Omit<ClientOptions, "storage">>;
  private readonly storage: Storage;
  private readonly emitter = new Emitter<ClientEvents>();
  private auth!: Auth;
  private socket: Socket | undefined;
  private outbox: Outbox | undefined;
  private replica: Replica | undefined;
  private marks: Marks | undefined;
  private store: Store | undefined;
  private state: ConnectionState = "signed-out";
  /** Which entry is the present one: what an earlier one still does must not go on. */
  private entry = 0;
  private leading = false;
  private releaseLead: (() => void) | undefined;
  private pollTimer: ReturnType<typeof setTimeout> | undefined;
  private readonly userCache = new Map<string, User>();
  private readonly wantedUsers = new Set<string>();
  private readonly presences = new Map<string, PresenceView>();
  private readonly typings = new Map<string, Map<string, number>>();
  private watched: string[] = [];
  private changed = false;
  private versionNumber = 0;
  private readonly sorted = new Map<string, unknown>();

  constructor(options: ClientOptions = {}) {
    const g = globalThis as { location?: { origin: string }; WebSocket?: unknown };
    this.options = {
      url: (options.url ?? g.location?.origin ?? "http://127.0.0.1:7070").replace(/\/$/, ""),
      format: options.format ?? "proto",
      info: options.info ?? { name: "TypeScript SDK", type: "other" },
      WebSocket: options.WebSocket ?? (g.WebSocket as WebSocketConstructor),
      fetch: options.fetch ?? globalThis.fetch.bind(globalThis),
      now: options.now ?? Date.now,
      random: options.random ?? Math.random,
      openTimeoutMs: options.openTimeoutMs ?? 10_000,
    };
    this.storage = options.storage ?? (typeof indexedDB === "undefined" ? memoryStorage() : indexedDBStorage());
    const invoke: Invoke = (method, input) => this.invoke(method, input);
    this.account = serviceClient(AccountService, invoke);
    this.graph = serviceClient(GraphService, invoke);
    this.chat = serviceClient(ChatService, invoke);
    this.media = serviceClient(MediaService, invoke);
    this.presenceApi = serviceClient(PresenceService, invoke);
  }

  // --- life ---

  /** Goes on with the login that the device keeps, if there is one. Call once, before all else. */
  async start(): Promise<boolean> {
    const store = await this.storage.open("rialto");
    this.auth = new Auth({
      invoke: (token) => (method, input) => post(this.options.url, method, input, token, this.options.fetch),
      store,
      lockName: "rialto-refresh",
      now: this.options.now,
      onEnded: () => void this.ended("logged_out"),
    });
    const login = await this.auth.load();
    if (login) await this.enter(login);
    return login !== undefined;
  }

  async register(handle: string, password: string, displayName: string): Promise<void> {
    await this.enter(await this.auth.register(handle, password, displayName, this.options.info));
  }

  async logIn(handle: string, password: string): Promise<void> {
    await this.enter(await this.auth.logIn(handle, password, this.options.info));
  }

  /** Takes over a session that was made elsewhere, as by AdminService.CreateSession on one's own server. */
  async adopt(session: Session): Promise<void> {
    await this.enter(await this.auth.adopt(session));
  }

  /** Ends the session on the server, and forgets what the device keeps. Messages not yet sent are lost. */
  async logOut(): Promise<void> {
    // Before the server ends it with the session, which would look like an end that came from elsewhere.
    this.socket?.stop();
    try {
      await this.account.logout({});
    } catch (err) {
      if (!isOffline(err) && asError(err).code !== "unauthenticated") {
        this.socket?.start();
        throw err;
      }
    }
    const { store, replica } = this;
    const counter = counterKey(this.auth.current?.device ?? "");
    await this.auth.forget();
    this.leave();
    await replica?.stop();
    if (!store) return;
    // The device's number stays, and with it the count: a number used twice would make the server take new for old.
    const count = await store.get<number>("meta", counter);
    await store.clear();
    if (count !== undefined) await store.write([{ table: "meta", key: counter, value: count }]);
  }

  /** Closes the connection; what is kept stays for the next start. */
  close(): void {
    this.leave();
  }

  private async enter(login: Login): Promise<void> {
    this.leave();
    const entry = this.entry;
    const store = await this.storage.open(`rialto-${login.user}`);
    const marks = new Marks(
      (list, ack) => this.socket?.send({ marks: list, ack: ack && { epoch: ack.epoch, seq: BigInt(ack.seq) } }) ?? false,
      this.options.now,
    );
    const replica = new Replica({ me: login.user, store, marks, api: this.chat, graph: this.graph, onChange: () => this.touch(), onMessage: (m) => this.arrived(m), onRelation: () => this.touch(), onProfile: (u) => this.staleUser(u), onJoinRequests: (r) => this.emitter.emit("joinRequests", r), ownStored: (m) => this.ownStored(m), leads: () => this.leading });
    const outbox = new Outbox({
      store,
      counter: counterKey(login.device),
      transmit: (sends) => this.socket?.send({ sends }) ?? false,
      now: this.options.now,
      onChange: () => this.touch(),
      onStored: (item, as) => replica.sent(item, as, login.device),
    });
    await Promise.all([replica.load(), outbox.load()]);
    const users = await store.list<User>("users");
    if (entry !== this.entry) return;
    this.store = store;
    this.marks = marks;
    this.replica = replica;
    this.outbox = outbox;
    for (const u of users) this.userCache.set(u.id, u);
    this.takeLead(login.user);
    this.socket = new Socket({
      url: this.options.url.replace(/^http/, "ws") + "/v1/socket",
      format: this.options.format,
      WebSocket: this.options.WebSocket,
      ticket: async () => (await this.account.createTicket({})).ticket,
      backoff: new Backoff(this.options.random, 500, 30_000),
      random: this.options.random,
      openTimeoutMs: this.options.openTimeoutMs,
      onState: (s, why) => this.onSocket(s, why),
      onFrame: (f) => this.onFrame(f),
    });
    this.setState("connecting");
    this.socket.start();
    this.listenToBrowser(true);
  }

  /** Several windows on one store would overwrite each other's positions: one stores, and the next takes over when it goes. */
  private takeLead(user: string): void {
    const locks = typeof navigator === "undefined" ? undefined : navigator.locks;
    this.leading = !this.storage.shared || !locks;
    if (this.leading || !locks) return;
    const { entry } = this;
    const held = locks.request(`rialto-lead-${user}`, () => {
      if (entry !== this.entry) return;
      this.leading = true;
      this.replica?.lead();
      return new Promise<void>((resolve) => (this.releaseLead = resolve));
    });
    this.later(held);
  }

  /** Work that nobody waits for: its failure is told to the console, and never ends a process. */
  private later(work: Promise<unknown> | undefined): void {
    work?.catch((err: unknown) => {
      if (!isOffline(err) && asError(err).code !== "unauthenticated") console.warn("rialto:", err);
    });
  }

  private leave(): void {
    this.entry++;
    this.leading = false;
    this.releaseLead?.();
    this.releaseLead = undefined;
    this.later(this.replica?.stop());
    this.listenToBrowser(false);
    clearTimeout(this.pollTimer);
    this.pollTimer = undefined;
    this.socket?.stop();
    this.marks?.stop();
    this.outbox?.closed();
    this.socket = this.outbox = this.replica = this.marks = this.store = undefined;
    this.userCache.clear();
    this.presences.clear();
    this.typings.clear();
    this.watched = [];
    this.setState("signed-out");
  }

  private async ended(reason: string): Promise<void> {
    this.leave();
    this.emitter.emit("ended", { reason });
  }

  private readonly onlineAgain = () => this.socket?.wake();
  private readonly offlineNow = () => this.socket?.probe();
  private readonly shownAgain = () => {
    if (document.visibilityState !== "visible") return;
    this.socket?.wake();
    this.socket?.probe();
  };

  private listenToBrowser(on: boolean): void {
    if (typeof window === "undefined" || !window.addEventListener) return;
    const change = on ? window.addEventListener : window.removeEventListener;
    change.call(window, "online", this.onlineAgain);
    change.call(window, "offline", this.offlineNow);
    // A window that slept may hold a connection that is long gone.
    if (typeof document !== "undefined") (on ? document.addEventListener : document.removeEventListener).call(document, "visibilitychange", this.shownAgain);
  }

  // --- calls ---

  private readonly invoke: Invoke = async (method, input) => {
    const token = await this.auth.token();
    const call = (t: string) => post(this.options.url, method, input, t, this.options.fetch);
    try {
      return await call(token);
    } catch (err) {
      if (!(err instanceof RialtoError) || err.code !== "unauthenticated") throw err;
      return call((await this.auth.refresh(token)).accessToken);
    }
  };

  // --- the connection ---

  private onSocket(s: SocketState, why: SocketEnd | undefined): void {
    if (s !== "open") {
      this.outbox?.closed();
      this.marks?.closed();
    }
    if (s === "waiting") {
      if (this.state !== "polling") this.setState("offline");
      this.touch(); // when the next try comes has changed
      if ((this.socket?.failures ?? 0) >= failuresBeforePolling) this.pollTimer ??= setTimeout(() => void this.poll(), 0);
    } else if (s === "connecting") this.setState("connecting");
    else if (s === "stopped" && why) {
      if (socketRefused.includes(why.code)) {
        this.setState("offline");
        this.pollTimer ??= setTimeout(() => void this.poll(), 0);
        return;
      }
      // Told to stay away: as a session that ended, or was replaced.
      this.later(this.auth.forget().then(() => this.ended(why.reason)));
    }
  }

  private onFrame(f: ServerFrame): void {
    const { replica, outbox, marks } = this;
    if (!replica || !outbox || !marks) return;
    if (f.hello) this.later(this.greeted(f.hello));
    for (const r of f.receipts) this.later(outbox.receipt(r));
    if (f.events.length > 0) replica.pushed(f.events);
    if (f.hint) void replica.sync();
    if (f.typing) this.typed(f.typing.conversation, f.typing.user);
    for (const p of f.presences) this.presences.set(p.user, { online: p.status === Status.ONLINE, lastActiveMs: Number(p.lastActiveMs) });
    if (f.presences.length > 0) this.touch();
  }

  private async greeted(hello: Hello): Promise<void> {
    const { replica, outbox, marks } = this;
    if (!replica || !outbox || !marks) return;
    clearTimeout(this.pollTimer);
    this.pollTimer = undefined;
    this.setState("online");
    outbox.opened(Number(hello.clientSeq));
    if (this.watched.length > 0) this.socket?.send({ watch: { users: this.watched } });
    const tail: StreamPosition = { epoch: hello.tail?.epoch ?? 0, seq: Number(hello.tail?.seq ?? 0n) };
    if (!replica.position || !samePosition(replica.position, tail)) await replica.sync(false, tail.epoch > 0 ? tail : undefined);
    else await replica.catchUpLarge();
    marks.flush();
    await replica.flushSettings();
  }

  /** Without a socket, calls may still get through. */
  private async poll(): Promise<void> {
    this.pollTimer = undefined;
    const { replica, outbox, marks, socket } = this;
    const without = () => socket !== undefined && socket === this.socket && (socket.state === "waiting" || socket.state === "stopped");
    if (!replica || !outbox || !marks || !without()) return;
    try {
      await replica.sync(true);
      if (!without()) return;
      this.setState("polling");
      // Asked anew for each: one that has to wait holds back those behind it.
      for (let item = outbox.due()[0]; item && without(); item = outbox.due()[0]) {
        try {
          const r = await this.chat.send({ conversation: item.conversation, clientSeq: BigInt(item.clientSeq), content: item.content });
          await outbox.stored(item, { id: r.id, seq: Number(r.seq), timeMs: Number(r.timeMs), counted: Number(r.counted) });
        } catch (err) {
          const e = asError(err);
          if (isOffline(e)) throw e;
          await outbox.refused(item, e);
        }
      }
      await replica.flushSettings();
      await this.tellMarks(marks);
    } catch {
      if (this.state === "polling" && without()) this.setState("offline");
    }
    if (without()) this.pollTimer ??= setTimeout(() => void this.poll(), retryPollMs * (0.8 + 0.4 * this.options.random()));
  }

  private async tellMarks(marks: Marks): Promise<void> {
    const list = marks.takeAll();
    for (let m = list.shift(); m; m = list.shift()) {
      try {
        await this.chat.mark(m);
      } catch (err) {
        if (!isOffline(err)) continue; // as of a conversation that is no more
        for (const left of [m, ...list]) marks.putBack(left);
        throw err;
      }
    }
  }

  private setState(s: ConnectionState): void {
    if (s === this.state) return;
    this.state = s;
    this.emitter.emit("connection", s);
    this.touch();
  }

  // --- what a view reads ---

  on<K extends keyof ClientEvents>(event: K, listener: (arg: ClientEvents[K]) => void): () => void {
    return this.emitter.on(event, listener);
  }

  /** For React's useSyncExternalStore: subscribe with this, and read version() or any snapshot. */
  readonly subscribe = (listener: () => void): (() => void) => this.emitter.on("change", listener);

  /** Rises with each change. */
  readonly version = (): number => this.versionNumber;

  get connection(): ConnectionState {
    return this.state;
  }

  /** Whether what came in while this device was away is still being fetched. */
  get catchingUp(): boolean {
    return this.replica?.catchingUp ?? false;
  }

  /** When the next try to connect comes; 0 when none is planned. */
  get retryAtMs(): number {
    return this.socket?.retryAtMs ?? 0;
  }

  get me(): string {
    return this.auth?.current?.user ?? "";
  }

  get login(): Login | undefined {
    return this.auth?.current;
  }

  /** Pinned first, then the last active first. */
  conversations(): readonly ConversationView[] {
    return this.cached("conversations", () => [...(this.replica?.conversations.values() ?? [])].filter((c) => c.kind !== 0).sort(compareConversations));
  }

  conversation(id: string): ConversationView | undefined {
    return this.replica?.conversations.get(id);
  }

  /** The loaded end of a conversation, in order. */
  messages(conversation: string): readonly ChatMessage[] {
    return this.replica?.log(conversation).messages ?? [];
  }

  /** What was sent here and is not stored yet, in order. */
  outgoing(conversation: string): readonly OutgoingMessage[] {
    return this.cached(`out/${conversation}`, () => this.outbox?.list(conversation) ?? []);
  }

  relations(): ReadonlyMap<string, Relation> {
    return this.replica?.relations ?? new Map<string, Relation>();
  }

  badge(): number {
    return badge(this.replica?.conversations.values() ?? []);
  }

  presence(user: string): PresenceView | undefined {
    return this.presences.get(user);
  }

  /** Who is typing in a conversation now. */
  typing(conversation: string): readonly string[] {
    return this.cached(`typing/${conversation}`, () => [...(this.typings.get(conversation)?.keys() ?? [])]);
  }

  /** A user, as far as known; asks for one that is not, or no longer fresh. */
  user(id: string): User | undefined {
    const u = this.userCache.get(id);
    if (id && id !== "0" && (!u || this.options.now() - u.fetchedMs > usersFreshMs)) this.wantUser(id);
    return u;
  }

  private cached<T>(key: string, make: () => T): T {
    if (!this.sorted.has(key)) this.sorted.set(key, make());
    return this.sorted.get(key) as T;
  }

  private touch(): void {
    this.sorted.clear();
    this.versionNumber++;
    if (this.changed) return;
    this.changed = true;
    queueMicrotask(() => {
      this.changed = false;
      this.emitter.emit("change", undefined);
    });
  }

  // --- what a user does ---

  /** Sends; resolves once the message is kept on the device. It goes out when it can, once. */
  async send(conversation: string, content: Content["kind"]): Promise<OutgoingMessage> {
    return this.must(this.outbox).enqueue(conversation, create(ContentSchema, { kind: content }));
  }

  sendText(conversation: string, text: string): Promise<OutgoingMessage> {
    return this.send(conversation, { case: "text", value: text });
  }

  retry(clientSeq: number): Promise<void> {
    return this.must(this.outbox).retry(clientSeq);
  }

  discard(clientSeq: number): Promise<void> {
    return this.must(this.outbox).discard(clientSeq);
  }

  /** Uploads a file; the upload can then be sent, or made an avatar. */
  async upload(file: Blob, name: string, progress?: Progress, signal?: AbortSignal): Promise<Upload> {
    const slot = await this.media.createUpload({ name, mimeType: file.type, size: BigInt(file.size) });
    await putFile(new URL(slot.url, this.options.url).href, file, this.options.fetch, progress, signal);
    return this.media.completeUpload({ upload: slot.upload });
  }

  /** A URL for a file that a message names, good for some minutes. */
  async download(m: { conversation: string; seq: number }, upload: string): Promise<string> {
    const { url } = await this.media.getDownload({ upload, conversation: m.conversation, seq: BigInt(m.seq) });
    return new URL(url, this.options.url).href;
  }

  /** Loads the end of a conversation, and keeps it whole from then on. */
  open(conversation: string): Promise<void> {
    return this.must(this.replica).open(conversation);
  }

  /** Loads older messages; false when there are none. */
  older(conversation: string): Promise<boolean> {
    return this.must(this.replica).older(conversation);
  }

  read(conversation: string, seq: number): void {
    this.must(this.replica).read(conversation, seq);
  }

  configure(conversation: string, settings: PendingSettings): Promise<void> {
    return this.must(this.replica).configure(conversation, settings);
  }

  /** The one-to-one conversation with a user, made where there is none. */
  async openDirect(user: string): Promise<ConversationView> {
    return this.must(this.replica).take(await this.chat.openDirect({ user }));
  }

  async createGroup(title: string, members: string[]): Promise<ConversationView> {
    return this.must(this.replica).take(await this.chat.createGroup({ title, members, key: crypto.randomUUID() }));
  }

  /** Tries to connect at once where the next try is planned for later. */
  reconnect(): void {
    this.socket?.wake();
  }

  tellTyping(conversation: string): void {
    this.socket?.send({ typing: conversation });
  }

  /** Replaces the set of users whose presence is pushed. */
  watch(users: readonly string[]): void {
    const next = [...new Set(users)].sort().slice(0, 500);
    if (next.length === this.watched.length && next.every((u, i) => u === this.watched[i])) return;
    this.watched = next;
    this.socket?.send({ watch: { users: next } });
  }

  /** Applies the answer of a graph call at once; the stream says the same a moment later. */
  async relate(call: Promise<Parameters<Replica["takeRelation"]>[0]>): Promise<void> {
    this.must(this.replica).takeRelation(await call);
  }

  /** Keeps users that came with another answer, as of a search. */
  takeUsers(users: readonly UserPb[]): void {
    const now = this.options.now();
    for (const u of users) this.userCache.set(u.id, toUser(u, now));
    if (users.length > 0) {
      this.later(this.store?.write(users.map((u) => ({ table: "users" as const, key: u.id, value: this.userCache.get(u.id) }))));
      this.touch();
    }
  }

  /** What is known stays on view until the new profile is there. */
  private staleUser(id: string): void {
    const u = this.userCache.get(id);
    if (!u) return;
    const stale = { ...u, fetchedMs: 0 };
    this.userCache.set(id, stale);
    this.later(this.store?.write([{ table: "users", key: id, value: stale }]));
  }

  private wantUser(id: string): void {
    if (this.wantedUsers.size === 0) setTimeout(() => void this.fetchUsers(), 10);
    this.wantedUsers.add(id);
  }

  private async fetchUsers(): Promise<void> {
    const ids = [...this.wantedUsers].slice(0, 200);
    this.wantedUsers.clear();
    try {
      this.takeUsers((await this.account.getUsers({ users: ids })).users);
    } catch {
      // Asked again when they are shown again.
    }
  }

  private typed(conversation: string, user: string): void {
    let of = this.typings.get(conversation);
    if (!of) this.typings.set(conversation, (of = new Map()));
    const at = this.options.now();
    of.set(user, at);
    setTimeout(() => {
      if (of.get(user) === at) of.delete(user);
      this.touch();
    }, typingShownMs);
    this.touch();
  }

  private arrived(m: ChatMessage): void {
    this.typings.get(m.conversation)?.delete(m.sender);
    this.emitter.emit("message", m);
  }

  /** One of ours came back in the stream: the outbox need not wait for its receipt. */
  private ownStored(m: ChatMessage): void {
    if (m.device !== this.auth.current?.device || m.clientSeq === 0) return;
    const item = this.outbox?.find(m.clientSeq);
    if (item && item.conversation === m.conversation) this.later(this.outbox?.stored(item, { id: m.id, seq: m.seq, timeMs: m.timeMs, counted: m.counted }));
  }

  private must<T>(part: T | undefined): T {
    if (!part) throw new RialtoError("unauthenticated", "not logged in", "logged_out");
    return part;
  }
}
