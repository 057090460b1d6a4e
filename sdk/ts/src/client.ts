import { AccountData } from "./accountData.js";
import type { Invoke } from "./api.js";
import { Auth, type Login, type LoginMethods } from "./auth.js";
import { inBackground } from "./background.js";
import { Channels } from "./channels.js";
import { Emitter } from "./emitter.js";
import { RialtoError, asError, isOffline } from "./errors.js";
import type { Session, User as UserPb } from "./gen/rialto/account/v1/account_pb.js";
import type { Upload } from "./gen/rialto/chat/v1/media_pb.js";
import type { Content } from "./gen/rialto/chat/v1/message_pb.js";
import { post } from "./http.js";
import { indexedDBStorage } from "./indexeddb.js";
import { mentionsUser } from "./mentions.js";
import { compareConversations, isSignal, isThread, isUpdate, toMessage, type ChatMessage, type ConversationView, type OutgoingMessage, type PendingSettings, type Relation, type User } from "./model.js";
import { Names } from "./names.js";
import { withDefaults, type ClientEvents, type ClientOptions, type ConnectionState, type Resolved } from "./options.js";
import { People, type PresenceView } from "./people.js";
import { ReaderLists, type NewReaders } from "./readers.js";
import type { Replica } from "./replica.js";
import { Rooms } from "./rooms.js";
import { services, type Services } from "./services.js";
import { ClientSession, counterKey, type SendOptions } from "./session.js";
import { none, noRelations, Snapshots } from "./snapshots.js";
import { memoryStorage, UserStore, type Storage } from "./storage.js";
import { withPending } from "./updates.js";
import { uploadFile, type Progress } from "./upload.js";
import type { AboutFile, FilePart, PendingUpload } from "./uploads.js";

/**
 * Client is one login on one device. It hides connecting, resending, syncing, gaps and storage: what it shows is what the
 * server has, together with what the user did here and the server has not confirmed. Snapshots are replaced, never changed.
 */
export class Client extends AccountData implements Services {
  readonly account: Services["account"];
  readonly graph: Services["graph"];
  readonly chat: Services["chat"];
  readonly media: Services["media"];
  readonly organizationApi: Services["organizationApi"];
  readonly roomApi: Services["roomApi"];
  readonly officialApi: Services["officialApi"];
  readonly helpDeskApi: Services["helpDeskApi"];
  readonly presenceApi: Services["presenceApi"];
  readonly channels = new Channels(() => this.chat, () => this.current.replica);
  readonly rooms: Rooms;
  private readonly options: Resolved;
  private readonly storage: Storage;
  private readonly emitter = new Emitter<ClientEvents>();
  protected readonly snapshots = new Snapshots(() => this.emitter.emit("change", undefined));
  private readonly people: People;
  private readonly readers = new ReaderLists((messages) => void this.session?.connection.send({ watchReaders: { messages: [...messages] } }));
  private readonly names = new Names((id) => this.user(id), () => this.relations());
  /** Opened by the first call that needs it. */
  private opening: Promise<Auth> | undefined;
  private starting: Promise<boolean> | undefined;
  private auth: Auth | undefined;
  /** What there is while somebody is logged in, and the store of their data. */
  protected session: ClientSession | undefined;
  private store: UserStore | undefined;
  private state: ConnectionState = "signed-out";
  /** Which entry is the present one: what an earlier one still does must not go on. */
  private entry = 0;

  constructor(options: ClientOptions = {}) {
    super();
    this.options = withDefaults(options);
    this.storage = options.storage ?? (typeof indexedDB === "undefined" ? memoryStorage() : indexedDBStorage());
    ({ account: this.account, graph: this.graph, chat: this.chat, media: this.media, organizationApi: this.organizationApi, roomApi: this.roomApi, officialApi: this.officialApi, helpDeskApi: this.helpDeskApi, presenceApi: this.presenceApi } = services(this.invoke));
    this.rooms = new Rooms({ api: () => this.roomApi, format: this.options.format, send: (frame) => this.session?.connection.send(frame) ?? false, onChange: () => this.snapshots.touch() });
    this.on("ticket", (t) => this.helpDesks.changed(t));
    this.people = new People({
      now: this.options.now,
      onChange: () => this.snapshots.touch(),
      getUsers: async (users) => (await this.account.getUsers({ users })).users,
      getPresence: async (users) => (await this.presenceApi.getPresence({ users })).presences,
      watch: (users) => void this.session?.connection.send({ watch: { users } }),
      store: (users) => inBackground(this.store?.write(users.map((u) => ({ table: "users" as const, key: u.id, value: u })))),
    });
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

  async logIn(handle: string, password: string): Promise<void> {
    await this.enter(await (await this.opened()).logIn(handle, password, this.options.info));
  }

  /** The ways to log in that this server has besides the password: a form offers no others. */
  async loginMethods(): Promise<LoginMethods> {
    return (await this.opened()).loginMethods();
  }

  /** Has a code for logInWithCode sent to a user, where the server can. */
  async requestCode(handle: string): Promise<void> {
    await (await this.opened()).requestCode(handle);
  }

  async logInWithCode(handle: string, code: string): Promise<void> {
    await this.enter(await (await this.opened()).logInWithCode(handle, code, this.options.info));
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
      login, store, options: this.options, services: this, people: this.people, readers: this.readers, rooms: this.rooms, emitter: this.emitter,
      shared: this.storage.shared ?? false,
      state: () => this.state,
      setState: (s) => this.setState(s),
      onChange: () => this.snapshots.touch(),
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
    this.snapshots.forget();
    this.setState("signed-out");
  }

  private ended(reason: string): void {
    this.leave();
    this.emitter.emit("ended", { reason });
  }

  private readonly invoke: Invoke = async (method, input) => {
    const auth = await this.opened();
    const token = await auth.token();
    const call = (t: string) => post(this.options.url, method, input, t, this.options.fetch);
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

  protected get current(): ClientSession {
    if (!this.session) throw new RialtoError("unauthenticated", "not logged in", "logged_out");
    return this.session;
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

  get me(): string {
    return this.auth?.current?.user ?? "";
  }

  get login(): Login | undefined {
    return this.auth?.current;
  }

  // --- conversations ---

  /** Pinned first, then the last active first. */
  conversations(): readonly ConversationView[] {
    return this.snapshots.list("conversations", () =>
      [...(this.session?.replica.data.conversations.values() ?? [])]
        .filter((c) => c.kind !== 0 && !c.deleted && !isThread(c))
        .sort(compareConversations)
        .map((c) => this.names.withTitle(c)),
    );
  }

  conversation(id: string): ConversationView | undefined {
    const c = this.session?.replica.data.conversations.get(id);
    return c && this.names.withTitle(c);
  }

  /** The one-to-one conversation with a user, by their id or handle; made where there is none. */
  async openDirect(user: string | { handle: string }): Promise<ConversationView> {
    const id = typeof user === "string" ? user : (await this.findUser(user.handle)).id;
    return this.names.withTitle(this.current.replica.conversations.take(await this.chat.openDirect({ user: id })));
  }

  async createGroup(title: string, members: string[]): Promise<ConversationView> {
    return this.current.replica.conversations.take(await this.chat.createGroup({ title, members, key: crypto.randomUUID() }));
  }

  read(conversation: string, seq: number): void {
    this.current.replica.conversations.read(conversation, seq);
  }

  configure(conversation: string, settings: PendingSettings): Promise<void> {
    return this.current.replica.conversations.configure(conversation, settings);
  }

  // --- history ---

  /** The loaded end of a conversation, in order, with the edits, recalls, reactions and pins that are on their way. */
  messages(conversation: string): readonly ChatMessage[] {
    const { session } = this;
    if (!session) return none;
    const loaded = session.replica.history.log(conversation).messages;
    const updates = session.outbox.list(conversation).some((o) => isUpdate(o.content));
    return updates ? this.snapshots.list(`messages/${conversation}`, () => withPending(loaded, session.outbox.list(conversation), this.me)) : loaded;
  }

  /** Loads the end of a conversation, and keeps it whole from then on. */
  open(conversation: string): Promise<void> {
    return this.current.replica.history.open(conversation);
  }

  /**
   * Loads the messages around a seq, as of the first unread one. Where too many follow, messages() does not reach the end: newer
   * loads on, and latest returns to it.
   */
  openAt(conversation: string, seq: number): Promise<void> {
    return this.current.replica.history.openAt(conversation, seq);
  }

  /** Loads newer messages where messages() does not reach the end; false once it does. */
  newer(conversation: string): Promise<boolean> {
    return this.current.replica.history.newer(conversation);
  }

  /** Loads the end of a conversation in place of what openAt loaded. */
  latest(conversation: string): Promise<void> {
    return this.current.replica.history.latest(conversation);
  }

  /** Whether messages() reaches the end of a conversation. */
  reachesEnd(conversation: string): boolean {
    return this.session?.replica.history.reachesEnd(conversation) ?? true;
  }

  /** Loads older messages; false when there are none. */
  older(conversation: string): Promise<boolean> {
    return this.current.replica.history.older(conversation);
  }

  // --- sending ---

  /** Sends; resolves once the message is kept on the device. It goes out when it can, once. */
  async send(conversation: string, content: Content["kind"], options?: SendOptions): Promise<OutgoingMessage> {
    return this.current.send(conversation, content, options);
  }

  /** Whether a message of somebody else mentions the user. */
  mentioned(m: ChatMessage): boolean {
    return m.sender !== this.me && mentionsUser(m.content, this.me);
  }

  /** Messages by their seqs, such as those that others reply to: at most 200. Those that one may not read are left out. */
  async getMessages(conversation: string, seqs: readonly number[]): Promise<ChatMessage[]> {
    const answer = await this.chat.getMessages({ conversation, seqs: seqs.map(BigInt) });
    return this.current.replica.expiry.watch(answer.messages.map(toMessage));
  }

  /** What was sent here and is not stored yet, in order. Of edits, recalls, reactions and pins only those that the server refused. */
  outgoing(conversation: string): readonly OutgoingMessage[] {
    return this.snapshots.list(`out/${conversation}`, () => this.session?.outbox.list(conversation).filter((o) => o.failed || !(isUpdate(o.content) || isSignal(o.content))) ?? []);
  }

  /** Sends a refused message again, as a new one. */
  retry(clientSeq: number): Promise<void> {
    return this.current.outbox.retry(clientSeq);
  }

  /** Gives up a refused message. */
  discard(clientSeq: number): Promise<void> {
    return this.current.outbox.discard(clientSeq);
  }

  tellTyping(conversation: string): void {
    this.session?.connection.send({ typing: conversation });
  }

  // --- files ---

  /** Uploads a file; the upload can then be sent, or made an avatar. */
  upload(file: Blob, name: string, progress?: Progress, signal?: AbortSignal): Promise<Upload> {
    return uploadFile(this.media, this.options, file, name, progress, signal);
  }

  /** Sends a file, as a message of its own: kept on the device until the server has it. Resolves once it is kept. */
  sendFile(conversation: string, file: Blob, name: string, caption = "", about: AboutFile = {}): Promise<void> {
    return this.current.uploads.add(conversation, [{ ...about, file, name }], caption);
  }

  /** Sends a recording as a voice message. waveform has at most 64 samples of its loudness, 0 to 255. Kept on the device as a file is. */
  sendVoice(conversation: string, file: Blob, durationMs: number, waveform: Uint8Array): Promise<void> {
    return this.sendFile(conversation, file, "voice", "", { durationMs, waveform });
  }

  /** Sends 2 to 10 pictures and videos as one message with one caption. Kept on the device as a file is. */
  sendAlbum(conversation: string, files: readonly FilePart[], caption = ""): Promise<void> {
    return this.current.uploads.add(conversation, files, caption);
  }

  /** The files on their way, in order. */
  uploads(): readonly PendingUpload[] {
    return this.session?.uploads.all() ?? none;
  }

  /** Takes a file back that is on its way. */
  async cancelUpload(id: string): Promise<void> {
    await this.session?.uploads.cancel(id);
  }

  retryUpload(id: string): void {
    this.session?.uploads.retry(id);
  }

  /** A URL for a file that a message names, or without `seq` for a group's picture; good for some minutes. */
  async download(m: { conversation: string; seq?: number }, upload: string): Promise<string> {
    const { url } = await this.media.getDownload({ upload, conversation: m.conversation, seq: BigInt(m.seq ?? 0) });
    return new URL(url, this.options.url).href;
  }

  // --- people ---

  /** A user, as far as known; asks for one that is not, or no longer fresh. */
  user(id: string): User | undefined {
    return this.people.user(id);
  }

  /** A user's name: your remark for them, or the name they gave themselves; empty until it is known. */
  nameOf(user: string): string {
    return this.names.of(user);
  }

  /** The user with a handle. */
  async findUser(handle: string): Promise<User> {
    const { users } = await this.account.getUsers({ handles: [handle] });
    const found = users[0];
    if (!found) throw new RialtoError("not_found", `nobody has the handle ${handle}`, "no_user");
    this.takeUsers([found]);
    return this.people.user(found.id)!;
  }

  /** Keeps users that came with another answer, as of a search. */
  takeUsers(users: readonly UserPb[]): void {
    this.people.take(users);
  }

  /** Asks for a user afresh, as where the picture is not there any more: it was replaced. */
  refreshUser(id: string): void {
    this.people.want(id);
  }

  relations(): ReadonlyMap<string, Relation> {
    return this.session?.replica.data.relations ?? noRelations;
  }

  /** Applies the answer of a graph call at once; the stream says the same a moment later. */
  async relate(call: Promise<Parameters<Replica["takeRelation"]>[0]>): Promise<void> {
    const { replica } = this.current;
    replica.takeRelation(await call);
  }

  /**
   * Tells who reads a message of this user, while its list of readers is shown; the answer ends it. Read the list (chat.listReaders) at the
   * beginning and where there is more.
   */
  watchReaders(conversation: string, seq: number, told: (news: NewReaders) => void): () => void {
    return this.readers.watch(conversation, seq, told);
  }

  /** Replaces the set of users whose presence is kept up to date: at most 500. */
  watch(users: readonly string[]): void {
    this.people.watch(users);
  }

  /** A watched user's presence, where it is known: not while the client is offline. */
  presence(user: string): PresenceView | undefined {
    return this.people.presence(user);
  }

  /** Reads the presence of users who are not watched, as of a group's members in view. What was read is shown by presence. */
  readPresence(users: readonly string[]): Promise<void> {
    return this.people.readPresence(users);
  }

  /** Tells whether this device is idle or in the background. In browsers the client finds out by itself. */
  setAway(away: boolean): void {
    this.session?.connection.setAway(away);
  }

  /** Who is typing in a conversation now. */
  typing(conversation: string): readonly string[] {
    return this.snapshots.list(`typing/${conversation}`, () => this.people.typing(conversation));
  }
}
