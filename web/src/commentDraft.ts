import type { Answered, NamedMention, NewComment } from "@rialto-im/client";
import { commentPrefix, sentPrefix } from "./drafts.js";
import { postMentions } from "./mentions.js";
import type { PostImage } from "./postDraft.js";
import type { KeyValueStorage } from "./storage.js";

/** What is being written below a post. */
export interface CommentDraft {
  text: string;
  /** The names that were chosen in the text. */
  names?: readonly NamedMention[];
  image?: PostImage;
}

/** A comment that was sent, until the server has it: a page that is opened later sends it again, with the same key. */
export interface SentComment extends CommentDraft {
  key: string;
  replyTo?: Answered;
}

export const emptyDraft: CommentDraft = { text: "" };
export const mostCommentText = 2_000;

export function isWritten(d: CommentDraft): boolean {
  return d.text.trim() !== "" || d.image !== undefined;
}

/** What is sent of a draft. */
export function commentOf({ text, names, image }: CommentDraft): NewComment {
  return { text: text.trim(), mentions: postMentions(text.trim(), names), ...(image ? { image: { ...image, size: BigInt(image.size) } } : {}) };
}

/** What is being written below posts, and what was sent and not confirmed. Both survive the page. */
export class CommentDrafts {
  constructor(
    private readonly storage: KeyValueStorage,
    private readonly me: () => string,
  ) {}

  load(post: string): CommentDraft {
    return this.read<CommentDraft>(this.draftKey(post)) ?? emptyDraft;
  }

  store(post: string, draft: CommentDraft): void {
    if (isWritten(draft)) this.write(this.draftKey(post), draft);
    else this.storage.removeItem(this.draftKey(post));
  }

  /** The comments on a post that were sent and not confirmed. */
  sent(post: string): SentComment[] {
    const prefix = this.sentKey(post, "");
    const keys = Array.from({ length: this.storage.length }, (_, i) => this.storage.key(i) ?? "").filter((k) => k.startsWith(prefix));
    return keys.map((k) => this.read<SentComment>(k)).filter((s) => s !== undefined);
  }

  storeSent(post: string, sent: SentComment): void {
    this.write(this.sentKey(post, sent.key), sent);
  }

  /** Forgets what the server has, or what the author discarded. */
  forgetSent(post: string, key: string): void {
    this.storage.removeItem(this.sentKey(post, key));
  }

  private draftKey(post: string): string {
    return `${commentPrefix}${this.me()}/${post}`;
  }

  private sentKey(post: string, key: string): string {
    return `${sentPrefix}${this.me()}/${post}/${key}`;
  }

  private read<T extends CommentDraft>(key: string): T | undefined {
    try {
      const stored = JSON.parse(this.storage.getItem(key) ?? "null") as T | null;
      return typeof stored?.text === "string" ? stored : undefined;
    } catch {
      return undefined; // of an older version of the app
    }
  }

  private write(key: string, value: CommentDraft): void {
    try {
      this.storage.setItem(key, JSON.stringify(value));
    } catch {
      // A full or forbidden storage: the page has it while it is open.
    }
  }
}
