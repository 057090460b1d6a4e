/** What drafts need of the client. */
export interface Port {
  readonly me: string;
  configure(conversation: string, settings: { draft: string }): Promise<void>;
}

type Kept = Pick<Storage, "length" | "key" | "getItem" | "setItem" | "removeItem">;

const prefix = "draft/";

/**
 * Drafts holds what was typed last until the client has it. The client keeps drafts by itself, but a moment after the last
 * key, and not at once: a page that is closed in this moment would lose it.
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

  /** Hands the text to the client. What was typed meanwhile stays held. */
  async keep(conversation: string, text: string): Promise<void> {
    await this.port.configure(conversation, { draft: text }).catch(() => {}); // a draft is not worth an error
    this.release(conversation, text);
  }

  /** The client has this text. */
  release(conversation: string, text: string): void {
    const key = this.key(conversation);
    if (this.kept.getItem(key) === text) this.kept.removeItem(key);
  }

  /** Hands over what a closed page left. */
  async restore(): Promise<void> {
    const mine = `${prefix}${this.port.me}/`;
    const left = Array.from({ length: this.kept.length }, (_, i) => this.kept.key(i) ?? "").filter((k) => k.startsWith(mine));
    await Promise.all(left.map((k) => this.keep(k.slice(mine.length), this.kept.getItem(k) ?? "")));
  }

  private key(conversation: string): string {
    return `${prefix}${this.port.me}/${conversation}`;
  }
}
