import { create, fromBinary, fromJson, toBinary, toJson, type DescMethodUnary, type JsonValue, type MessageInitShape } from "@bufbuild/protobuf";
import { createServer, type IncomingMessage, type Server as HttpServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { WebSocket, WebSocketServer } from "ws";
import { AccountService, GraphService, type SessionSchema, type SettingsSchema, type UserSchema } from "../../src/gen/rialto/account/v1/account_pb.js";
import { ChatService, DeletionSchema, EventSchema, SettingsChangeSchema, type ConversationSchema, type Event, type FolderSchema, type InvitationSchema } from "../../src/gen/rialto/chat/v1/chat_pb.js";
import { OrganizationService, type OrganizationInvitationSchema } from "../../src/gen/rialto/chat/v1/organization_pb.js";
import { PresenceService, type PresenceSchema } from "../../src/gen/rialto/presence/v1/presence_pb.js";
import { RefSchema, MessageSchema, type Content, type Message } from "../../src/gen/rialto/chat/v1/message_pb.js";
import { ClientFrameSchema, ServerFrameSchema, type ClientFrame, type Send } from "../../src/gen/rialto/gateway/v1/gateway_pb.js";
import { Client, memoryStorage, type ClientOptions, type Storage, type WebSocketConstructor } from "../../src/index.js";

export const me = "11";
export const bob = "22";
export const room = "7";

type Refusal = { code: string; reason: string; retryMs?: number };

/** A server for one user on one device, which loses, repeats and disorders as a test asks. */
export class FakeServer {
  /** What is stored, per conversation; the seq is the place. */
  readonly logs = new Map<string, Message[]>([[room, []]]);
  readonly stream: Event[] = [];
  readonly conversations = new Map<string, MessageInitShape<typeof ConversationSchema>>([[room, { id: room, kind: 2, title: "room" }]]);
  /** Every number that came in, repeats included. */
  readonly numbers: number[] = [];
  readonly frames: ClientFrame[] = [];
  readonly calls: string[] = [];
  /** What devices said of themselves at logins. */
  readonly devices: { device: string; deviceKey: string }[] = [];
  /** The code that logins need beside the first factor; "" for none. */
  secondFactor = "";
  /** The answer of StartPasskey and StartPasskeyLogin, and what came back. */
  passkeyOptions: object = { challenge: "AQ" };
  readonly credentials: object[] = [];
  readonly marks: { conversation: string; readSeq: bigint }[] = [];
  /** What the user deleted: keys of messages, and up to which seq. */
  readonly deleted = new Set<string>();
  readonly cleared = new Map<string, bigint>();
  settings: MessageInitShape<typeof SettingsSchema> = {};
  folders: MessageInitShape<typeof FolderSchema>[] = [];
  invitations: MessageInitShape<typeof InvitationSchema>[] = [];
  organizationInvitations: MessageInitShape<typeof OrganizationInvitationSchema>[] = [];
  users: MessageInitShape<typeof UserSchema>[] = [];
  presences: MessageInitShape<typeof PresenceSchema>[] = [];
  heartbeatMs = 25_000;
  mapUrl = "";
  epoch = 1;
  /** What ids of messages begin with. */
  ids = "ID";
  /** Positions below this are no longer whole. */
  trimmed = 0;
  refreshes = 0;
  handshakes = 0;
  sockets = true;
  /** Calls of Sync that were to wait. */
  waits = 0;
  /** Called in place of a wait: the network breaks it. */
  breakWait: (() => void) | undefined;
  /** What the next tries to connect get no answer to, one each. */
  silent: ("ticket" | "handshake" | "hello")[] = [];
  /** How many of the next handshakes end without an answer. */
  drops = 0;
  /** Pushes of what is stored. */
  pushes = true;
  large: { conversation: string; lastSeq: bigint }[] = [];
  refuseSend: ((s: Send) => Refusal | undefined) | undefined;
  /** Called once a send is stored, before its receipt: true keeps the receipt back. */
  beforeReceipt: (() => boolean) | undefined;
  /** Refuses a call, by its path's last part. */
  refuseCall: ((name: string) => Refusal | undefined) | undefined;
  /** Holds back the answer to a call, by its path's last part. */
  holdCall: ((name: string) => Promise<void> | undefined) | undefined;

  private access = "access-0";
  private refresh = "refresh-0";
  private readonly stored = new Map<number, Message>();
  private readonly waiting: { done: () => boolean; resolve: () => void }[] = [];
  private readonly held: Duplex[] = [];
  private readonly http: HttpServer;
  private readonly ws = new WebSocketServer({ noServer: true, handleProtocols: (p) => [...p][0] ?? false });

  private constructor() {
    this.http = createServer((req, res) => void this.call(req, res));
    this.http.on("upgrade", (req, socket, head) => {
      this.handshakes++;
      socket.on("error", () => {}); // as the client drops it first
      this.progress();
      if (this.drops > 0) {
        this.drops--;
        return void socket.destroy();
      }
      if (this.silent[0] === "handshake") {
        this.silent.shift();
        return void this.held.push(socket);
      }
      if (!this.sockets) return socket.end("HTTP/1.1 403 Forbidden\r\n\r\n");
      this.ws.handleUpgrade(req, socket, head, (ws) => this.greet(ws));
    });
  }

  static async start(): Promise<FakeServer> {
    const s = new FakeServer();
    await new Promise<void>((resolve) => s.http.listen(0, "127.0.0.1", resolve));
    return s;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.http.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    for (const ws of this.ws.clients) ws.terminate();
    for (const socket of this.held) socket.destroy();
    this.http.closeAllConnections();
    await new Promise((resolve) => this.http.close(resolve));
  }

  client(storage: Storage = memoryStorage(), options: ClientOptions = {}): Client {
    // With random at 0 every wait between tries is none, so that no test waits.
    return new Client({ url: this.url, storage, WebSocket: WebSocket as unknown as WebSocketConstructor, random: () => 0, ...options });
  }

  async loggedIn(storage?: Storage, options?: ClientOptions): Promise<Client> {
    const c = this.client(storage, options);
    await c.start();
    await c.logIn("me", "a good password");
    await until(c, () => c.connection === "online" && !c.catchingUp);
    return c;
  }

  /** Resolves when the server has seen what is wanted. */
  until(done: () => boolean): Promise<void> {
    if (done()) return Promise.resolve();
    return new Promise((resolve) => this.waiting.push({ done, resolve }));
  }

  private progress(): void {
    for (const w of this.waiting.splice(0)) w.done() ? w.resolve() : this.waiting.push(w);
  }

  // --- what happens on the server's side ---

  /** Somebody writes; the event is stored, and pushed unless pushes are off. */
  write(text: string, sender = bob, conversation = room): Event {
    return this.append(this.store(conversation, { kind: { case: "text", value: text } }, sender));
  }

  /** Stores a message without an event, as in a large group. */
  store(conversation: string, content: Pick<Content, "kind">, sender: string, device = "0", clientSeq = 0): Message {
    const log = this.logs.get(conversation)!;
    const n = BigInt(log.length + 1);
    const m = create(MessageSchema, { conversation, seq: n, id: `${this.ids}-${conversation}-${n}`, sender, device, clientSeq: BigInt(clientSeq), timeMs: 1_000n + n, counted: n, content });
    log.push(m);
    return m;
  }

  /** A conversation with one other user. */
  direct(peer: string): object {
    this.logs.set("9", this.logs.get("9") ?? []);
    this.conversations.set("9", { id: "9", kind: 1, peer });
    return this.described(this.conversations.get("9")!);
  }

  append(message: Message): Event {
    return this.event({ case: "message", value: message });
  }

  event(body: Event["body"]): Event {
    const prev = this.stream.at(-1)?.seq ?? 0n;
    const e = create(EventSchema, { epoch: this.epoch, seq: prev + 1n, prev, body });
    this.stream.push(e);
    if (this.pushes) this.push(e);
    return e;
  }

  push(...events: Event[]): void {
    this.send({ events });
  }

  send(frame: MessageInitShape<typeof ServerFrameSchema>): void {
    for (const ws of this.ws.clients) ws.send(toBinary(ServerFrameSchema, create(ServerFrameSchema, frame)));
  }

  /** The connections break, without a word. */
  cut(): void {
    for (const ws of this.ws.clients) ws.terminate();
  }

  close(code: number, reason: string): void {
    for (const ws of this.ws.clients) ws.close(code, reason);
  }

  /** The access token ends; with `session`, the refresh token too. */
  expire(session = false): void {
    this.access = "ended";
    if (session) this.refresh = "ended";
  }

  get connections(): number {
    return this.ws.clients.size;
  }

  // --- the socket ---

  private greet(ws: WebSocket): void {
    if (this.silent[0] === "hello") return void this.silent.shift();
    const tail = this.stream.at(-1);
    const hello = { user: me, device: "5", heartbeatMs: this.heartbeatMs, mapUrl: this.mapUrl, clientSeq: BigInt(Math.max(0, ...this.stored.keys())), tail: { epoch: this.epoch, seq: tail?.seq ?? 0n } };
    ws.send(toBinary(ServerFrameSchema, create(ServerFrameSchema, { hello })));
    ws.on("message", (data: Buffer) => {
      const frame = fromBinary(ClientFrameSchema, new Uint8Array(data));
      this.frames.push(frame);
      for (const s of frame.sends) {
        const receipt = this.take(s);
        if (this.beforeReceipt?.()) continue;
        ws.send(toBinary(ServerFrameSchema, create(ServerFrameSchema, { receipts: [{ conversation: s.conversation, clientSeq: s.clientSeq, ...receipt }] })));
      }
      this.progress();
    });
  }

  private take(s: Pick<Send, "conversation" | "clientSeq" | "content">) {
    const n = Number(s.clientSeq);
    this.numbers.push(n);
    const refused = this.refuseSend?.(s as Send);
    if (refused) return { error: { message: "no", retryMs: 0, ...refused } };
    const had = this.stored.get(n);
    const answered = this.stored.get(Number(s.content?.replyTo?.clientSeq ?? 0n));
    if (answered) s.content!.replyTo = create(RefSchema, { seq: answered.seq });
    const m = had ?? this.store(s.conversation, s.content!, me, "5", n);
    if (!had) {
      this.stored.set(n, m);
      this.append(m);
    }
    return { id: m.id, seq: m.seq, timeMs: m.timeMs, counted: m.counted, duplicate: had !== undefined };
  }

  // --- calls ---

  private async call(req: IncomingMessage, res: ServerResponse): Promise<void> {
    let body = "";
    for await (const part of req) body += String(part);
    const name = req.url!.split("/").at(-1)!;
    const method = [AccountService, GraphService, ChatService, OrganizationService, PresenceService].flatMap((s): DescMethodUnary[] => s.methods as DescMethodUnary[]).find((m) => `/${m.parent.typeName}/${m.name}` === req.url)!;
    this.calls.push(name);
    this.progress();
    if (name === "CreateTicket" && this.silent[0] === "ticket") return void this.silent.shift();
    await this.holdCall?.(name);
    const open = ["Login", "LoginWithCode", "LoginWithSecondFactor", "StartPasskeyLogin", "LoginWithPasskey", "RequestCode", "Refresh"].includes(name);
    const refused = this.refuseCall?.(name) ?? (open || req.headers.authorization === `Bearer ${this.access}` ? undefined : { code: "unauthenticated", reason: "expired" });
    try {
      if (refused) throw refused;
      const input = fromJson(method.input, JSON.parse(body) as JsonValue);
      await this.awaitEvent(name, input, res);
      const answer = this.answer(name, input);
      res.setHeader("Content-Type", "application/json");
      res.end(JSON.stringify(toJson(method.output, create(method.output, answer as never))));
    } catch (err) {
      const e = err as Refusal;
      res.statusCode = e.code === "unauthenticated" ? 401 : e.code === "unavailable" ? 503 : 400;
      res.end(JSON.stringify({ code: e.code, message: e.reason, details: [{ debug: { reason: e.reason, retryMs: e.retryMs ?? 0 } }] }));
    }
    this.progress();
  }

  /** A sync that waits: until there is an event after its position, its time is over, or the client has gone. */
  private async awaitEvent(name: string, input: any, res: ServerResponse): Promise<void> {
    if (name !== "Sync" || input.waitMs === 0) return;
    this.waits++;
    this.progress();
    if (this.breakWait) {
      this.breakWait();
      res.destroy();
      return;
    }
    const endMs = Date.now() + input.waitMs;
    const news = () => this.stream.some((e) => e.seq > (input.after?.seq ?? 0n));
    while (!news() && Date.now() < endMs && !res.destroyed) await new Promise((resolve) => setTimeout(resolve, 5));
  }

  private session(): MessageInitShape<typeof SessionSchema> {
    this.refreshes++;
    this.access = `access-${this.refreshes}`;
    this.refresh = `refresh-${this.refreshes}`;
    return { user: me, device: "5", session: "6", accessToken: this.access, refreshToken: this.refresh, deviceKey: "rd_key", expiresMs: BigInt(Date.now() + 900_000) };
  }

  private answer(name: string, input: any): object {
    switch (name) {
      case "LoginWithCode":
      case "Login":
        if (name === "LoginWithCode" && input.code !== "123456") throw { code: "unauthenticated", reason: "bad_code" };
        if (this.secondFactor) return { secondFactor: { challenge: "rc_1", expiresMs: 1_800_000_000_000n } };
        this.devices.push(input.client);
        return this.session();
      case "LoginWithSecondFactor":
        if (input.challenge !== "rc_1" || input.code !== this.secondFactor) throw { code: "unauthenticated", reason: "bad_second_factor" };
        this.devices.push(input.client);
        return this.session();
      case "StartPasskey":
      case "StartPasskeyLogin":
        return { options: JSON.stringify(this.passkeyOptions) };
      case "LoginWithPasskey":
        this.credentials.push(JSON.parse(input.credential));
        this.devices.push(input.client);
        return this.session();
      case "AddPasskey":
        this.credentials.push(JSON.parse(input.credential));
        return { id: "8", name: input.name };
      case "Refresh":
        if (input.refreshToken !== this.refresh) throw { code: "unauthenticated", reason: "session_ended" };
        return this.session();
      case "CreateTicket":
        return { ticket: "t" };
      case "Sync":
        return this.sync(Number(input.after?.seq ?? 0n), input.limit);
      case "History":
        return this.history(input);
      case "GetMessages":
        return { messages: this.logs.get(input.conversation)!.filter((m) => input.seqs.includes(m.seq)) };
      case "ListEdits":
        return this.edits(input.seq, input.page);
      case "ListReactions":
        return { users: [bob, me].slice(Number(input.page || 0)).slice(0, 1), next: input.page ? "" : "1" };
      case "ListConversations":
        return { conversations: [...this.conversations.values()].map((c) => this.described(c)) };
      case "GetConversation":
        return this.described(this.conversations.get(input.conversation)!);
      case "OpenDirect":
        return this.direct(input.user);
      case "GetUsers":
        if (input.users.length + input.handles.length > 200) throw { code: "invalid_argument", reason: "too_many_users" };
        return { users: this.users.filter((u) => input.users.includes(u.id) || input.handles.includes(u.handle)) };
      case "GetPresence":
        return { presences: this.presences };
      case "Send":
        return this.take(input);
      case "Mark":
        this.marks.push(input);
        return {};
      case "ListFolders":
        return { folders: this.folders };
      case "CreateFolder":
        this.folders.push({ id: String(90 + this.folders.length), ...input });
        return this.folders.at(-1)!;
      case "ListInvitations":
        return { invitations: this.invitations };
      case "AnswerInvitation":
        this.invitations = this.invitations.filter((i) => i.conversation !== input.conversation);
        return {};
      case "ListOrganizationInvitations":
        return { invitations: this.organizationInvitations };
      case "AnswerOrganizationInvitation":
        this.organizationInvitations = this.organizationInvitations.filter((i) => i.organization !== input.organization);
        return {};
      case "GetSettings":
        return this.settings;
      case "UpdateSettings":
        this.settings = input.settings;
        this.event({ case: "settings", value: create(SettingsChangeSchema) });
        return this.settings;
      case "DeleteMessages": {
        for (const seq of input.seqs) this.deleted.add(`${input.conversation}/${seq}`);
        const d = create(DeletionSchema, { conversation: input.conversation, seqs: input.seqs });
        this.event({ case: "deletion", value: d });
        return d;
      }
      case "ClearHistory": {
        const tail = BigInt(this.logs.get(input.conversation)!.length);
        const throughSeq = input.throughSeq < tail ? input.throughSeq : tail;
        this.cleared.set(input.conversation, throughSeq);
        const d = create(DeletionSchema, { conversation: input.conversation, throughSeq, throughCounted: throughSeq, deleted: input.delete && throughSeq === tail });
        this.event({ case: "deletion", value: d });
        return d;
      }
      case "Configure":
        return { conversation: input.conversation, pinned: input.pinned ?? false, draft: input.draft ?? "" };
      default:
        return {};
    }
  }

  private described(c: MessageInitShape<typeof ConversationSchema>): object {
    const log = this.logs.get(c.id!) ?? [];
    const last = log.at(-1);
    return { ...c, lastSeq: BigInt(log.length), unread: BigInt(log.length), state: { ...(c.state as object), conversation: c.id! }, ...(last ? { lastMessage: last } : {}) };
  }

  private sync(after: number, limit: number): object {
    if (after < this.trimmed) return { reset: true, next: { epoch: this.epoch, seq: this.stream.at(-1)?.seq ?? 0n } };
    const events = this.stream.filter((e) => Number(e.seq) > after);
    const page = events.slice(0, limit);
    const more = page.length < events.length;
    return { events: page, more, next: { epoch: this.epoch, seq: page.at(-1)?.seq ?? BigInt(after) }, large: more ? [] : this.large };
  }

  /** A page with the original of a message, or with its edits. */
  private edits(seq: bigint, page: string): object {
    const log = this.logs.get(room)!;
    const of = log.find((m) => m.seq === seq)!;
    if (!page) return { versions: [of], next: "edits" };
    const versions = log.flatMap((m) => (m.content?.kind.case === "edit" && m.content.kind.value.target?.seq === seq ? [{ ...of, content: m.content.kind.value.content, editSeq: m.seq, editedMs: m.timeMs }] : []));
    return { versions, next: "" };
  }

  private history(q: { conversation: string; before: bigint; after: bigint; timeMs: bigint; limit: number }): object {
    const first = this.cleared.get(q.conversation) ?? 0n;
    const log = (this.logs.get(q.conversation) ?? []).filter((m) => m.seq > first && !this.deleted.has(`${q.conversation}/${m.seq}`));
    if (q.after > 0n || q.timeMs > 0n) {
      const rest = log.filter((m) => m.seq > q.after && m.timeMs >= q.timeMs);
      return { messages: rest.slice(0, q.limit), more: rest.length > q.limit };
    }
    const rest = q.before > 0n ? log.filter((m) => m.seq < q.before) : log;
    return { messages: rest.slice(-q.limit), more: rest.length > q.limit };
  }
}

/** Resolves when a client's view is as wanted. */
export function until(c: Client, wanted: () => boolean): Promise<void> {
  if (wanted()) return Promise.resolve();
  return new Promise((resolve) => {
    const stop = c.subscribe(() => {
      if (!wanted()) return;
      stop();
      resolve();
    });
  });
}

export function texts(list: readonly { content: Content }[]): string[] {
  return list.flatMap((m) => (m.content.kind.case === "text" ? [m.content.kind.value] : []));
}
