import { recentPrefix } from "./search/recent.js";
import type { KeyValueStorage } from "./storage.js";

/** The client's methods that drafts need. */
export interface Port {
  readonly me: string;
  configure(conversation: string, settings: { draft: string }): Promise<void>;
  /** The server has not confirmed the draft. */
  pending(conversation: string): boolean;
}

const prefix = "draft/";
const namesPrefix = "draft-names/";
/** Of posts that are being written: see postDraft.ts. */
export const postPrefix = "draft-post/";
/** Of comments that are being written, and of those that were sent: see commentDraft.ts. */
export const commentPrefix = "draft-comment/";
export const sentPrefix = "sent-comment/";

/**
 * Drafts stores a typed text until the server has it. The client stores drafts itself, but only a moment after the last
 * key press. A page that is closed in that moment would lose the text.
 */
export class Drafts {
  private readonly port: Port;
  private readonly storage: KeyValueStorage;

  constructor(port: Port, storage: KeyValueStorage) {
    this.port = port;
    this.storage = storage;
  }

  /** Stores the text at once. Call it for every change of the field. */
  store(conversation: string, text: string): void {
    try {
      this.storage.setItem(this.key(conversation), text);
    } catch {
      // A full or forbidden storage: the client has it a moment later.
    }
  }

  /** Saves the text through the client. Without a network it stays stored, and so does text that was typed meanwhile. */
  async save(conversation: string, text: string): Promise<void> {
    await this.port.configure(conversation, { draft: text }).catch(() => {}); // a draft is not worth an error
    this.discard(conversation, text);
  }

  /** Discards a text that the server has. */
  discard(conversation: string, text: string): void {
    const key = this.key(conversation);
    if (!this.port.pending(conversation) && this.storage.getItem(key) === text) this.storage.removeItem(key);
  }

  /** Saves the texts that a closed page left, and those that were typed without a network. */
  async restore(): Promise<void> {
    const mine = `${prefix}${this.port.me}/`;
    const stored = Array.from({ length: this.storage.length }, (_, i) => this.storage.key(i) ?? "").filter((k) => k.startsWith(mine));
    await Promise.all(stored.map((k) => this.save(k.slice(mine.length), this.storage.getItem(k) ?? "")));
  }

  /** Removes all drafts, and the last searches, at logout. */
  clear(): void {
    const keys = Array.from({ length: this.storage.length }, (_, i) => this.storage.key(i) ?? "").filter((k) => [prefix, namesPrefix, postPrefix, commentPrefix, sentPrefix, recentPrefix].some((p) => k.startsWith(p)));
    for (const k of keys) this.storage.removeItem(k);
  }

  /** The key under which the names that were chosen in a draft are stored. */
  namesKey(conversation: string): string {
    return `${namesPrefix}${this.port.me}/${conversation}`;
  }

  private key(conversation: string): string {
    return `${prefix}${this.port.me}/${conversation}`;
  }
}
