import { create } from "@bufbuild/protobuf";
import type { Login } from "./auth.js";
import { inBackground } from "./background.js";
import { Connection, type ConnectionDeps } from "./connection.js";
import type { Emitter } from "./emitter.js";
import { ContentSchema, type Content, type LinkPreview, type Mention } from "./gen/rialto/chat/v1/message_pb.js";
import { Marks } from "./marks.js";
import type { ChatFolder, ChatMessage, GroupInvitation, OrganizationInvitation, OutgoingMessage, User } from "./model.js";
import type { Edges } from "./edges.js";
import type { ClientEvents } from "./options.js";
import { Outbox } from "./outbox.js";
import { Replica } from "./replica.js";
import { ServerCopy } from "./serverCopy.js";
import { SettingsCopy } from "./settings.js";
import type { UserStore } from "./storage.js";
import { ownRef, ref } from "./updates.js";
import { discardParts, Resumes } from "./multipart.js";
import { uploadFile } from "./upload.js";
import { Uploads } from "./uploads.js";
import { Leader, exclusive } from "./windows.js";

/** A message that another one answers: by its seq, or one of this device's that may be on its way, as outgoing() lists it. */
export type ReplyTarget = number | Pick<OutgoingMessage, "clientSeq">;

export interface SendOptions {
  /** What this message answers. */
  replyTo?: ReplyTarget | undefined;
  /** Mentions in the text or the caption, as joinMentions makes them. In groups only. */
  mentions?: readonly Mention[] | undefined;
  /** Preview of a link in the text, as chat.previewLink returned it. */
  linkPreview?: LinkPreview | undefined;
}

export interface SessionDeps extends Pick<ConnectionDeps, "options" | "services" | "people" | "rooms" | "streamed" | "readers" | "shownPosts" | "state" | "setState" | "onChange" | "onEnded"> {
  /** Events of the stream are missing: what was read elsewhere may be of data that the server has lost. */
  onReset: () => void;
  login: Login;
  store: UserStore;
  /** Whether other windows see the same store. */
  shared: boolean;
  emitter: Emitter<ClientEvents>;
  edges: Edges;
}

/** The store's key of a device's count of messages. */
export function counterKey(device: string): string {
  return `client_seq/${device}`;
}

/** ClientSession is what a client has while somebody is logged in: the copy of their data, what waits to be sent, and the connection. */
export class ClientSession {
  readonly replica: Replica;
  readonly outbox: Outbox;
  readonly uploads: Uploads;
  /** Which uploads in parts have begun. */
  readonly resumes: Resumes;
  readonly settings: SettingsCopy;
  readonly invitations: ServerCopy<readonly GroupInvitation[]>;
  readonly organizationInvitations: ServerCopy<readonly OrganizationInvitation[]>;
  readonly folders: ServerCopy<readonly ChatFolder[]>;
  readonly connection: Connection;
  private readonly copies: readonly ServerCopy<unknown>[];
  private readonly marks: Marks;
  private readonly leader = new Leader();

  constructor(private readonly deps: SessionDeps) {
    const { login, store, services, people, options, emitter, onChange } = deps;
    this.marks = new Marks((list, ack) => this.replica.conversations.whole && this.connection.send({ marks: list, ack: ack && { epoch: ack.epoch, seq: BigInt(ack.seq) } }), options.now);
    this.settings = new SettingsCopy({ store, api: services.account, onChange });
    this.invitations = new ServerCopy({
      store,
      key: "invitations",
      read: async () => (await services.chat.listInvitations({})).invitations.map(({ conversation, title, inviter, timeMs }) => ({ conversation, title, inviter, timeMs: Number(timeMs) })),
      onChange,
    });
    this.organizationInvitations = new ServerCopy({
      store,
      key: "organizationInvitations",
      read: async () => (await services.organizationApi.listOrganizationInvitations({})).invitations.map(({ organization, name, inviter, timeMs }) => ({ organization, name, inviter, timeMs: Number(timeMs) })),
      onChange,
    });
    this.folders = new ServerCopy({ store, key: "folders", read: async () => (await services.chat.listFolders({})).folders.map(({ id, name, conversations }) => ({ id, name, conversations })), onChange });
    this.copies = [this.settings, this.invitations, this.folders, this.organizationInvitations];
    this.replica = new Replica({
      me: login.user, store, marks: this.marks, api: services.chat, graph: services.graph,
      onChange,
      onRelation: onChange,
      onUpdated: (u) => emitter.emit("updated", u),
      onMessage: (m) => {
        people.wrote(m.conversation, m.sender);
        emitter.emit("message", m);
      },
      onProfile: (u) => people.stale(u),
      onReset: (known) => {
        this.copies.forEach((copy) => inBackground(copy.changed()));
        if (known) deps.onReset();
      },
      onSynced: () => {
        this.replica.conversations.synced();
        this.outbox.synced();
      },
      unsentReferences: () => this.outbox.references(),
      dropLost: (isSame) => this.outbox.dropLost(isSame),
      onSettings: () => inBackground(this.settings.changed()),
      onJoinRequests: (r) => emitter.emit("joinRequests", r),
      onTicket: (ticket) => emitter.emit("ticket", ticket),
      onFolders: () => inBackground(this.folders.changed()),
      onInvitations: (organization) => inBackground((organization === "0" ? this.invitations : this.organizationInvitations).changed()),
      ownStored: (m) => this.ownStored(m),
      onPushed: (timeMs) => this.connection.lag.pushed(timeMs),
      now: options.now,
      isLeader: () => this.leader.leading,
    });
    this.outbox = new Outbox({
      store,
      counter: counterKey(login.device),
      transmit: (sends) => this.connection.sendMessages(sends),
      now: options.now,
      onChange,
      onStored: (item, as) => this.replica.events.sent(item, as, login.device),
      onAcknowledged: (item) => {
        if (!this.replica.data.conversations.get(item.conversation)?.large) this.connection.lag.acknowledged(item.clientSeq);
      },
    });
    this.resumes = new Resumes(store);
    this.uploads = new Uploads({
      store,
      upload: (file, name, progress, signal) => uploadFile(services.media, { ...options, edges: deps.edges }, file, name, { progress, signal, resumes: this.resumes }),
      discard: (file) => inBackground(discardParts(services.media, file, this.resumes).catch(() => {})), // the server drops it after a day
      enqueue: (conversation, content, ops) => this.outbox.enqueue(conversation, create(ContentSchema, { kind: content }), ops),
      exclusive: (id, work) => inBackground(exclusive(`rialto-upload-${login.user}-${id}`, deps.shared, work)),
      onChange,
    });
    this.connection = new Connection({ ...deps, replica: this.replica, outbox: this.outbox, marks: this.marks, copies: this.copies, onPosts: (posts) => emitter.emit("posts", posts), onNotifications: () => emitter.emit("notifications", undefined), onDecisions: () => emitter.emit("decisions", undefined) });
  }

  get leading(): boolean {
    return this.leader.leading;
  }

  /** Reads what the device has, and returns the users that it knows. */
  async load(): Promise<User[]> {
    await Promise.all([this.replica.data.load(), this.outbox.load(), ...this.copies.map((copy) => copy.load())]);
    return this.deps.store.list<User>("users");
  }

  start(): void {
    const { login, shared } = this.deps;
    inBackground(this.uploads.load());
    inBackground(this.leader.wait(`rialto-lead-${login.user}`, shared, () => this.replica.lead()));
    this.replica.storedExpiry.start();
    this.connection.start();
  }

  /** Ends all that would go on by itself. Resolves when what was taken is stored. */
  stop(): Promise<void> {
    this.leader.stop();
    this.connection.stop();
    this.marks.stop();
    this.outbox.closed();
    this.uploads.stop();
    return this.replica.stop();
  }

  send(conversation: string, content: Content["kind"], { replyTo, mentions, linkPreview }: SendOptions = {}) {
    return this.outbox.enqueue(conversation, create(ContentSchema, { kind: content, ...(replyTo ? { replyTo: typeof replyTo === "number" ? ref(replyTo) : ownRef(replyTo.clientSeq) } : {}), ...(mentions ? { mentions: [...mentions] } : {}), ...(linkPreview ? { linkPreview } : {}) }));
  }

  /** One of ours came back in the stream: the outbox need not wait for its receipt. */
  private ownStored(m: ChatMessage): void {
    if (m.device !== this.deps.login.device || m.clientSeq === 0) return;
    this.connection.lag.arrived(m.clientSeq);
    const item = this.outbox.find(m.clientSeq);
    if (item && item.conversation === m.conversation) inBackground(this.outbox.stored(item, { id: m.id, seq: m.seq, timeMs: m.timeMs, counted: m.counted }));
  }
}
