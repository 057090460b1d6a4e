import type { Kept } from "./kept.js";

/** What drafts need of the client. */
export interface Port {
  readonly me: string;
  configure(conversation: string, settings: { draft: string }): Promise<void>;
  /** The server has not confirmed the draft. */
  pending(conversation: string): boolean;
}

const prefix = "draft/";

/**
 * Drafts holds what was typed last until the server has it. The client keeps drafts by itself, but a moment after the last
 * key, and its storage takes a while: a page that is closed in this moment would lose it.
 */
export class Drafts {
  private readonly port: Port;
  private readonly kept: Kept;

  constructor(port: Port, kept: Kept) {
    this.port = port;
    this.kept = kept;
  }

  /** Notes a key at once; called for every change of the field. */
  hold(conversation: string, text: string): void {
    try {
      this.kept.setItem(this.key(conversation), text);
    } catch {
      // A full or forbidden storage: the client has it a moment later.
    }
  }

  /** Hands the text to the client. It stays held without a network, and so does what was typed meanwhile. */
  async keep(conversation: string, text: string): Promise<void> {
    await this.port.configure(conversation, { draft: text }).catch(() => {}); // a draft is not worth an error
    this.release(conversation, text);
  }

  /** Lets go of a text that the server has. */
  release(conversation: string, text: string): void {
    const key = this.key(conversation);
    if (!this.port.pending(conversation) && this.kept.getItem(key) === text) this.kept.removeItem(key);
  }

  /** Hands over what a closed page left, or what was typed without a network. */
  async restore(): Promise<void> {
    const mine = `${prefix}${this.port.me}/`;
    const left = Array.from({ length: this.kept.length }, (_, i) => this.kept.key(i) ?? "").filter((k) => k.startsWith(mine));
    await Promise.all(left.map((k) => this.keep(k.slice(mine.length), this.kept.getItem(k) ?? "")));
  }

  /** Forgets everything, as at a log-out. */
  clear(): void {
    const held = Array.from({ length: this.kept.length }, (_, i) => this.kept.key(i) ?? "").filter((k) => k.startsWith(prefix));
    for (const k of held) this.kept.removeItem(k);
  }

  private key(conversation: string): string {
    return `${prefix}${this.port.me}/${conversation}`;
  }
}
