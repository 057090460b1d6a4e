import type { Invoke } from "./api.js";
import { Edges } from "./edges.js";
import { Auth, type Login, type LoginMethods } from "./auth.js";
import { inBackground } from "./background.js";
import { Channels } from "./channels.js";
import { Emitter } from "./emitter.js";
import { RialtoError, asError, isOffline } from "./errors.js";
import type { ContactKind, Passkey, Session } from "./gen/rialto/account/v1/account_pb.js";
import { GatewayService } from "./gen/rialto/gateway/v1/discovery_pb.js";
import { post } from "./http.js";
import { HelpDesks } from "./helpDesks.js";
import { indexedDBStorage } from "./indexeddb.js";
import type { LocationOf } from "./kinds.js";
import { mapUrl } from "./mapUrl.js";
import { Names } from "./names.js";
import { OfficialAccounts } from "./official.js";
import { sessionOf, type Context } from "./operations/context.js";
import { operations, type Operations } from "./operations/index.js";
import { withDefaults, type ClientEvents, type ClientOptions, type ConnectionState, type Resolved } from "./options.js";
import { createPasskey, type PasskeyLogin } from "./passkeys.js";
import { People } from "./people.js";
import { ReaderLists } from "./readers.js";
import { ShownPosts } from "./shown.js";
import { Rooms } from "./rooms.js";
import { services, type Services } from "./services.js";
import { ClientSession, counterKey } from "./session.js";
import { noRelations, Snapshots } from "./snapshots.js";
import { StreamedMessages } from "./streamed.js";
import { toMessage } from "./model.js";
import { memoryStorage, UserStore, type Storage } from "./storage.js";

/** What a client does with conversations, messages, people and files: its own methods, which are in operations/, a file for each area. */
export interface Client extends Operations {}

/**
 * Client is one login on one device. It hides connecting, resending, syncing, gaps and storage: what it shows is what the
 * server has, together with what the user did here and the server has not confirmed. Snapshots are replaced, never changed.
 */
export class Client implements Services {
  readonly account: Services["account"];
  readonly graph: Services["graph"];
  readonly chat: Services["chat"];
  readonly media: Services["media"];
  readonly organizationApi: Services["organizationApi"];
  readonly roomApi: Services["roomApi"];
  readonly officialApi: Services["officialApi"];
  readonly feedApi: Services["feedApi"];
  readonly commentApi: Services["commentApi"];
  readonly engagementApi: Services["engagementApi"];
  readonly moderationApi: Services["moderationApi"];
  readonly notificationApi: Services["notificationApi"];
  readonly pushApi: Services["pushApi"];
  readonly searchApi: Services["searchApi"];
  readonly rankingApi: Services["rankingApi"];
  readonly helpDeskApi: Services["helpDeskApi"];
  readonly presenceApi: Services["presenceApi"];
  readonly videoApi: Services["videoApi"];
  readonly gatewayApi: Services["gatewayApi"];
  readonly channels: Channels;
  readonly rooms: Rooms;
  /** Messages that are written in parts while others read them. */
  readonly streamed: StreamedMessages;
  /** Official accounts that the user follows, meets or operates. */
  readonly official: OfficialAccounts;
  /** Help desks, the user's own tickets, and those of the desks whose agent the user is. */
  readonly helpDesks: HelpDesks;
  private readonly options: Resolved;
  private readonly edges: Edges;
  private readonly storage: Storage;
  private readonly emitter = new Emitter<ClientEvents>();
  private readonly snapshots = new Snapshots(() => this.emitter.emit("change", undefined));
  private readonly people: People;
  private readonly readers = new ReaderLists((messages) => void this.session?.connection.send({ watchReaders: { messages: [...messages] } }));
  private readonly shownPosts = new ShownPosts((posts) => void this.session?.connection.send({ watchPosts: { posts: [...posts] } }));
  /** Opened by the first call that needs it. */
  private opening: Promise<Auth> | undefined;
  private starting: Promise<boolean> | undefined;
  private auth: Auth | undefined;
  /** What there is while somebody is logged in, and the store of their data. */
  private session: ClientSession | undefined;
  private store: UserStore | undefined;
  private state: ConnectionState = "signed-out";
  /** Which entry is the present one: what an earlier one still does must not go on. */
  private entry = 0;

  constructor(options: ClientOptions = {}) {
    this.options = withDefaults(options);
    this.storage = options.storage ?? (typeof indexedDB === "undefined" ? memoryStorage() : indexedDBStorage());
    const api = services(this.invoke);
    ({ account: this.account, graph: this.graph, chat: this.chat, media: this.media, organizationApi: this.organizationApi, roomApi: this.roomApi, officialApi: this.officialApi, helpDeskApi: this.helpDeskApi, feedApi: this.feedApi, commentApi: this.commentApi, engagementApi: this.engagementApi, moderationApi: this.moderationApi, notificationApi: this.notificationApi, pushApi: this.pushApi, searchApi: this.searchApi, rankingApi: this.rankingApi, presenceApi: this.presenceApi, videoApi: this.videoApi, gatewayApi: this.gatewayApi } = api);
    this.people = new People({
      now: this.options.now,
      onChange: () => this.snapshots.touch(),
      getUsers: async (users) => (await api.account.getUsers({ users })).users,
      getPresence: async (users) => (await api.presenceApi.getPresence({ users })).presences,
      watch: (users) => void this.session?.connection.send({ watch: { users } }),
      store: (users) => inBackground(this.store?.write(users.map((u) => ({ table: "users" as const, key: u.id, value: u })))),
    });
    const names = new Names((id) => this.people.user(id), () => this.session?.replica.data.relations ?? noRelations);
    this.edges = new Edges({ ...this.options, find: (r, signal) => api.gatewayApi.findGateways(r, { signal }) });
    const context: Context = { options: this.options, services: api, snapshots: this.snapshots, people: this.people, names, readers: this.readers, shownPosts: this.shownPosts, edges: this.edges, me: () => this.me, session: () => this.session };
    Object.assign(this, operations(context));
    const onChange = () => this.snapshots.touch();
    this.channels = new Channels(() => api.chat, () => sessionOf(context).replica);
    this.rooms = new Rooms({ api: () => api.roomApi, format: this.options.format, send: (frame) => this.session?.connection.send(frame) ?? false, onChange });
    this.streamed = new StreamedMessages({ api: () => api.chat, onChange, onEnded: (conversation, seq) => this.readAgain(conversation, seq) });
    this.official = new OfficialAccounts({
      me: context.me, api: () => api.officialApi, onChange,
      join: (channel) => this.channels.join({ conversation: channel }), leave: (channel) => this.channels.leave(channel),
    });
    this.helpDesks = new HelpDesks({
      me: context.me, api: () => api.helpDeskApi, onChange,
      readConversation: async (id) => sessionOf(context).replica.conversations.take(await api.chat.getConversation({ conversation: id })),
    });
    this.on("ticket", (t) => this.helpDesks.changed(t));
  }

  // --- logging in and out ---

  /** Goes on with the login that the device stored, and tells whether there is one. Further calls give the first one's answer. */
  start(): Promise<boolean> {
    this.starting ??= this.startNow();
    return this.starting;
  }

  private async startNow(): Promise<boolean> {
    const auth = await this.opened();
    if (auth.current) return true; // logged in already
    const login = await auth.load();
    if (login) await this.enter(login);
    return auth.current !== undefined;
  }

  private opened(): Promise<Auth> {
    this.opening ??= this.storage.open("rialto").then((store) => {
      this.auth = new Auth({
        invoke: (token) => (method, input) => post(this.options.url, method, input, token, this.options.fetch),
        store,
        lockName: "rialto-refresh",
        now: this.options.now,
        onEnded: () => this.ended("logged_out"),
      });
      return this.auth;
    });
    return this.opening;
  }

  async register(handle: string, password: string, displayName: string): Promise<void> {
    await this.enter(await (await this.opened()).register(handle, password, displayName, this.options.info));
  }

  /** Fails with SecondFactorNeeded if the password is right, and the account needs a second factor too. */
  async logIn(handle: string, password: string): Promise<void> {
    await this.enter(await (await this.opened()).logIn(handle, password, this.options.info));
  }

  /** The ways to log in that this server has besides the password: a form offers no others. */
  async loginMethods(): Promise<LoginMethods> {
    return (await this.opened()).loginMethods();
  }

  /** Appeals against a ban of the account or the device, once, with the token of the refused login (RialtoError.ban). */
  async appealBan(appealToken: string, text: string): Promise<void> {
    await (await this.opened()).appealBan(appealToken, text);
  }

  /** Has a code for logInWithCode sent to a user, where the server can. */
  async requestCode(handle: string): Promise<void> {
    await (await this.opened()).requestCode(handle);
  }

  async logInWithCode(handle: string, code: string): Promise<void> {
    await this.enter(await (await this.opened()).logInWithCode(handle, code, this.options.info));
  }

  /** Completes a login that failed with SecondFactorNeeded: with a code of the user's authenticator app, or a recovery code. */
  async logInWithSecondFactor(handle: string, challenge: string, code: string): Promise<void> {
    await this.enter(await (await this.opened()).logInWithSecondFactor(handle, challenge, code, this.options.info));
  }

  /** Logs in with a passkey that the user chooses, which is both factors. It fails with passkey_canceled if none is chosen. */
  async logInWithPasskey(how: PasskeyLogin = {}): Promise<void> {
    await this.enter(await (await this.opened()).logInWithPasskey(how, this.options.info));
  }

  /** Has a new passkey of the user created on this device, or on one that the browser offers. Needs a session as for other changes of the protection. */
  async addPasskey(name: string): Promise<Passkey> {
    return this.account.addPasskey({ name, credential: await createPasskey((await this.account.startPasskey({})).options) });
  }

  /** Has a code for resetPassword sent to the address of a user, where the server can. It does not tell whether there is one. */
  async requestPasswordReset(handle: string, kind: ContactKind): Promise<void> {
    await (await this.opened()).requestPasswordReset(handle, kind, this.options.info);
  }

  /** Sets a new password with a code that was sent, and ends all sessions of the user. Then log in with it. */
  async resetPassword(handle: string, code: string, newPassword: string): Promise<void> {
    await (await this.opened()).resetPassword(handle, code, newPassword, this.options.info);
  }

  /** Takes over a session that was made elsewhere, as by AdminService.CreateSession on one's own server. */
  async adopt(session: Session): Promise<void> {
    await this.enter(await (await this.opened()).adopt(session));
  }

  /** Ends the session on the server, and forgets what the device keeps. Messages not yet sent are lost. */
  async logOut(): Promise<void> {
    const auth = await this.opened();
    const { store, session } = this;
    // Before the server ends it with the session, which would look like an end that came from elsewhere.
    session?.connection.pause();
    try {
      await this.account.logout({});
    } catch (err) {
      if (!isOffline(err) && asError(err).code !== "unauthenticated") {
        session?.connection.resume();
        throw err;
      }
    }
    const counter = counterKey(auth.current?.device ?? "");
    await auth.forget();
    this.leave();
    await session?.stop();
    // The device's number stays, and with it the count: a number used twice would make the server take new for old.
    await store?.clear([counter]);
  }

  /** Closes the connection; what is kept stays for the next start. */
  close(): void {
    this.leave();
  }

  private async enter(login: Login): Promise<void> {
    this.leave();
    const entry = this.entry;
    const store = await UserStore.open(await this.storage.open(`rialto-${login.user}`), () => {
      if (store === this.store) this.auth?.end();
    });
    // A sign-out in another window before the store was opened is found here, and a later one by the store.
    if (!(await this.auth?.holds(login)) && entry === this.entry) return this.auth?.end();
    const session = new ClientSession({
      login, store, options: this.options, edges: this.edges, services: this, people: this.people, readers: this.readers, shownPosts: this.shownPosts, rooms: this.rooms, streamed: this.streamed, emitter: this.emitter,
      shared: this.storage.shared ?? false,
      state: () => this.state,
      setState: (s) => this.setState(s),
      onChange: () => this.snapshots.touch(),
      onReset: () => {
        this.resets++;
        this.snapshots.touch();
      },
      onEnded: (reason) => inBackground(this.auth?.forget().then(() => this.ended(reason))),
    });
    const users = await session.load();
    if (entry !== this.entry) return;
    this.store = store;
    this.session = session;
    this.people.load(users);
    session.start();
  }

  private leave(): void {
    this.entry++;
    inBackground(this.session?.stop());
    this.session = this.store = undefined;
    this.people.clear();
    this.rooms.forget();
    this.streamed.forget();
    this.snapshots.forget();
    this.setState("signed-out");
  }

  /** Replaces a loaded message by what the server has. */
  private async readAgain(conversation: string, seq: number): Promise<void> {
    const { messages } = await this.chat.getMessages({ conversation, seqs: [BigInt(seq)] });
    this.session?.replica.history.replace(messages.map(toMessage));
  }

  private ended(reason: string): void {
    this.leave();
    this.emitter.emit("ended", { reason });
  }

  private readonly invoke: Invoke = async (method, input, options) => {
    const base = options?.base || this.options.url;
    if (method.parent.typeName === GatewayService.typeName) return post(base, method, input, undefined, this.options.fetch, options);
    const auth = await this.opened();
    const token = await auth.token();
    const call = (t: string) => post(base, method, input, t, this.options.fetch, options);
    try {
      return await call(token);
    } catch (err) {
      if (!(err instanceof RialtoError) || err.code !== "unauthenticated") throw err;
      return call((await auth.refresh(token)).accessToken);
    }
  };

  private setState(s: ConnectionState): void {
    if (s === this.state) return;
    this.state = s;
    if (s === "online" || s === "polling") this.session?.uploads.wake();
    if (s === "offline") this.people.forgetPresence();
    this.emitter.emit("connection", s);
    this.snapshots.touch();
  }

  // --- the connection ---

  on<K extends keyof ClientEvents>(event: K, listener: (arg: ClientEvents[K]) => void): () => void {
    return this.emitter.on(event, listener);
  }

  /** For React's useSyncExternalStore: subscribe with this, and read version() or any snapshot. */
  readonly subscribe = (listener: () => void): (() => void) => this.emitter.on("change", listener);

  /** Rises with each change. */
  readonly version = (): number => this.snapshots.version;

  get connection(): ConnectionState {
    return this.state;
  }

  /**
   * How often events of the stream were missing, as after the server's operator has restored a backup. The copy of conversations is read again by itself; read lists
   * of posts, comments and notifications again when this rises. The hooks do.
   */
  resets = 0;

  /** Whether what came in while this device was away is still being fetched. */
  get catchingUp(): boolean {
    return this.session?.replica.stream.catchingUp ?? false;
  }

  /** When the next try to connect comes; 0 when none is planned. */
  get retryAtMs(): number {
    return this.session?.connection.retryAtMs ?? 0;
  }

  /** Tries to connect at once where the next try is planned for later. */
  reconnect(): void {
    this.session?.connection.wake();
  }

  /** The address of a map that shows a place, for a link that the user may open; undefined where the server has no map service, and before the first connection. */
  mapUrl(place: Pick<LocationOf, "latitude" | "longitude">): string | undefined {
    return mapUrl(this.session?.connection.mapPattern ?? "", place);
  }

  /** Whether this window leads, of the browser's windows of this user: it does what one of them must do, such as notifying. */
  get leading(): boolean {
    return this.session?.leading ?? false;
  }

  /**
   * Says that the app is in the background: pings are then sent as rarely as the path allows. A browser's page need not say it, since its window does.
   */
  setBackground(background: boolean): void {
    this.session?.connection.setBackground(background);
  }

  get me(): string {
    return this.auth?.current?.user ?? "";
  }

  get login(): Login | undefined {
    return this.auth?.current;
  }
}
