import { Contacts } from "./contacts.js";
import type { Content } from "./gen/rialto/chat/v1/message_pb.js";
import type { Upload } from "./gen/rialto/chat/v1/media_pb.js";
import { mentionsUser } from "./mentions.js";
import { compareConversations, isSignal, isThread, isUpdate, toMessage, type ChatMessage, type ConversationView, type OutgoingMessage, type PendingSettings } from "./model.js";
import type { Resolved } from "./options.js";
import type { Services } from "./services.js";
import type { SendOptions } from "./session.js";
import { none } from "./snapshots.js";
import { withPending } from "./updates.js";
import { uploadFile, type Progress } from "./upload.js";
import type { AboutFile, FilePart, PendingUpload } from "./uploads.js";

/** Messaging has the conversations, their messages as far as they are loaded, and what is sent to them, files too. */
export abstract class Messaging extends Contacts {
  abstract readonly media: Services["media"];
  protected abstract readonly options: Resolved;

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
}
