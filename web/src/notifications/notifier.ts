import { Availability, type ChatMessage, type Client, type Content, type ConversationView } from "@rialto-im/client";
import { preview } from "../format.js";
import type { Translate } from "../i18n.js";
import type { Choices } from "./choices.js";

type Shown = Pick<Notification, "close" | "onclick">;

export interface NotifierDeps {
  client: Client;
  choices: () => Choices;
  /** Whether the user sees the chat, or uses any window of the app. */
  sees: (chat: string) => Promise<boolean>;
  show: (title: string, options: NotificationOptions) => Shown;
  play: () => void;
  now: () => number;
  text: Translate;
  titleOf: (c: ConversationView) => string;
  nameOf: (user: string) => string;
  onOpen: (chat: string, seq: number) => void;
}

/** A chat's notification, and the unread messages that it stands for: the newest ones. */
interface Entry {
  messages: ChatMessage[];
  /** Messages of which it is not known yet whether the user sees the chat; undefined while nobody asks. */
  waiting: ChatMessage[] | undefined;
  notification: Shown | undefined;
}

/** A notification stands for so many messages at most: it shows one, and falls back to those before. */
const mostMessages = 50;
/** A device that wakes up gets many messages at once: it plays one tone. */
const toneEveryMs = 1_000;

/**
 * Notifier shows a notification of each chat with new messages that the user does not see. Of several windows of the browser, the
 * leading one does. A notification never keeps what was recalled or replaced, and goes when its messages are read, on any device.
 */
export class Notifier {
  private readonly entries = new Map<string, Entry>();
  private readonly stops: (() => void)[];
  private playedMs = -Infinity;

  constructor(private readonly deps: NotifierDeps) {
    const { client } = deps;
    this.stops = [
      client.on("message", (m) => void this.message(m)),
      client.on("updated", (u) => this.updated(u.conversation, u.seq, u.content)),
      client.subscribe(() => this.dropRead()),
    ];
  }

  /** Closes all notifications: nobody would update them any more. */
  stop(): void {
    for (const stop of this.stops) stop();
    this.clear();
  }

  /** Closes all notifications. */
  clear(): void {
    for (const e of this.entries.values()) e.notification?.close();
    this.entries.clear();
  }

  private async message(m: ChatMessage): Promise<void> {
    if (!this.wanted(m)) return;
    const entry = this.entries.get(m.conversation) ?? { messages: [], waiting: undefined, notification: undefined };
    this.entries.set(m.conversation, entry);
    if (entry.waiting) {
      entry.waiting = [...entry.waiting, m].slice(-mostMessages);
      return; // the answer is for all of them
    }
    entry.waiting = [m]; // at once, so that a recall finds it
    const seen = await this.deps.sees(m.conversation).catch(() => false);
    const news = entry.waiting;
    entry.waiting = undefined;
    if (this.entries.get(m.conversation) !== entry || news.length === 0) return; // read or recalled
    if (seen) {
      if (entry.messages.length === 0) this.close(m.conversation, entry);
      return;
    }
    entry.messages = [...entry.messages, ...news].slice(-mostMessages);
    this.render(m.conversation, entry);
    this.playTone();
  }

  /** Plays the tone where the user wants it, and not often: also for what else is notified of. */
  playTone(): void {
    const now = this.deps.now();
    if (!this.deps.choices().sound || now - this.playedMs < toneEveryMs) return;
    this.playedMs = now;
    this.deps.play();
  }

  private wanted(m: ChatMessage): boolean {
    const { client, choices } = this.deps;
    const c = client.conversation(m.conversation);
    if (!choices().on || !client.leading || m.sender === client.me || !c || c.readSeq >= m.seq) return false;
    if (m.content.kind.case === "control" || m.content.kind.case === "signal") return false;
    if (client.settings()?.availability === Availability.DO_NOT_DISTURB) return false;
    return client.mentioned(m) || !(c.muted || c.archived);
  }

  private updated(chat: string, seq: number, content: Content | undefined): void {
    const entry = this.entries.get(chat);
    if (!entry) return;
    this.change(chat, entry, (m) => (m.seq !== seq ? m : content && { ...m, content }));
  }

  /** Drops what the user read or deleted on any device, and what has expired. */
  private dropRead(): void {
    const { client } = this.deps;
    for (const [chat, entry] of this.entries) {
      const c = client.conversation(chat);
      if (!c || c.leaveSeq !== 0) this.close(chat, entry);
      else this.change(chat, entry, (m) => (m.seq <= c.readSeq || client.isGone(m) ? undefined : m));
    }
  }

  /** Changes an entry's messages; those without an answer go. Shows the last one anew where it is another. */
  private change(chat: string, entry: Entry, by: (m: ChatMessage) => ChatMessage | undefined): void {
    const shown = entry.messages.at(-1);
    entry.messages = entry.messages.flatMap((m) => by(m) ?? []);
    entry.waiting = entry.waiting?.flatMap((m) => by(m) ?? []);
    const last = entry.messages.at(-1);
    if (!last && !entry.waiting?.length) this.close(chat, entry);
    else if (!last) entry.notification?.close();
    else if (last !== shown) this.render(chat, entry);
  }

  private close(chat: string, entry: Entry): void {
    entry.notification?.close();
    this.entries.delete(chat);
  }

  /** Shows the last message of a chat. The tag makes it replace the one before. */
  private render(chat: string, entry: Entry): void {
    const { client, choices, show, text, titleOf, nameOf, onOpen } = this.deps;
    const last = entry.messages.at(-1)!;
    const c = client.conversation(chat)!;
    const line = preview(last, nameOf, text);
    const group = c.peer === "0" || c.peer === "";
    const [title, body] = choices().preview ? [titleOf(c), group ? text("by", { who: nameOf(last.sender) }) + line : line] : ["Rialto", text("newMessage")];
    entry.notification = show(title, { body, tag: `rialto-${client.me}-${chat}`, icon: "/icon.svg", silent: true });
    entry.notification.onclick = () => {
      this.close(chat, entry);
      onOpen(chat, last.seq);
    };
  }
}
