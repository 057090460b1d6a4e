import { create } from "@bufbuild/protobuf";
import { ContentSchema, Control_Action } from "../../src/gen/rialto/chat/v1/message_pb.js";
import type { Client } from "../../src/client.js";
import type { ConnectionState } from "../../src/options.js";
import { RialtoError } from "../../src/errors.js";
import type { SendOptions } from "../../src/session.js";
import { unknownConversation, type ChatMessage, type ConversationView } from "../../src/model.js";

interface Shown {
  connection: ConnectionState;
  conversations: readonly ConversationView[];
  messages: readonly ChatMessage[];
  typing: readonly string[];
  badge: number;
  users: Record<string, string>;
  online: string[];
}

const none: readonly never[] = [];

/** A client that shows what a test sets. */
export class FakeClient {
  resets = 0;
  readonly opened: string[] = [];
  readonly sent: string[] = [];
  readonly typed: string[] = [];
  /** The options of the last text. */
  sentWith: SendOptions | undefined;
  olderPages: ChatMessage[][] = [];
  failOlder = false;
  failSend = false;
  private readonly listeners = new Set<() => void>();
  private versionNumber = 0;
  private shown: Shown = { connection: "signed-out", conversations: none, messages: none, typing: none, badge: 0, users: {}, online: [] };
  private readonly profiles = new Map<string, object>();
  private readonly presences = new Map<string, object>();

  asClient(): Client {
    return this as unknown as Client;
  }

  /** Changes what is shown; resolves when it was rendered. */
  set(change: Partial<Shown>): Promise<void> {
    this.shown = { ...this.shown, ...change };
    for (const [id, displayName] of Object.entries(change.users ?? {})) this.profiles.set(id, { id, displayName });
    for (const id of change.online ?? []) this.presences.set(id, { status: "online", online: true, lastActiveMs: 0 });
    this.versionNumber++;
    for (const f of [...this.listeners]) f();
    return this.frame();
  }

  frame(): Promise<void> {
    return new Promise((resolve) => requestAnimationFrame(() => resolve()));
  }

  view(id: string, fields: Partial<ConversationView>): ConversationView {
    return { ...unknownConversation(id), kind: 2, ...fields };
  }

  text(seq: number, text: string): ChatMessage {
    return this.message(seq, text, create(ContentSchema, { kind: { case: "text", value: text } }));
  }

  hidden(seq: number): ChatMessage {
    return this.message(seq, "", create(ContentSchema, { kind: { case: "control", value: { action: Control_Action.ACCESS } } }));
  }

  private message(seq: number, text: string, content: ChatMessage["content"]): ChatMessage {
    return { conversation: "7", seq, id: `m${seq}`, sender: "22", device: "0", clientSeq: 0, timeMs: seq, counted: seq, text, content };
  }

  // --- what hooks call ---

  readonly subscribe = (f: () => void) => {
    this.listeners.add(f);
    return () => this.listeners.delete(f);
  };
  readonly version = () => this.versionNumber;
  get connection() {
    return this.shown.connection;
  }
  conversations = () => this.shown.conversations;
  conversation = (id: string) => this.shown.conversations.find((c) => c.id === id);
  messages = () => this.shown.messages;
  outgoing = () => none;
  typing = () => this.shown.typing;
  badge = () => this.shown.badge;
  user = (id: string) => this.profiles.get(id);
  presence = (id: string) => this.presences.get(id);
  open = async (id: string) => void this.opened.push(id);
  tellTyping = (id: string) => this.typed.push(id);
  configure = async () => {};

  older = async () => {
    if (this.failOlder) throw new RialtoError("unavailable", "offline");
    await this.set({ messages: [...(this.olderPages.shift() ?? []), ...this.shown.messages] });
    return this.olderPages.length > 0;
  };

  sendText = async (conversation: string, text: string, options: SendOptions = {}) => {
    if (this.failSend) throw new RialtoError("resource_exhausted", "no room");
    this.sent.push(`${conversation}: ${text}`);
    this.sentWith = options;
  };
}
