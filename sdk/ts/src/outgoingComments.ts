import type { OutgoingComment } from "./comments.js";
import { asError, RialtoError } from "./errors.js";
import type { Comment } from "./gen/rialto/comment/v1/comment_pb.js";
import type { Context } from "./operations/context.js";
import { resend } from "./resend.js";
import { none } from "./snapshots.js";

export interface OutgoingDeps {
  create: (o: OutgoingComment) => Promise<Comment>;
  /** A comment is stored. It is still among the outgoing ones. */
  onCreated: (comment: Comment) => void;
}

/** The comments of one user that are on their way, and those that could not be sent. */
export class Outgoing {
  /** By post. The lists are replaced, never changed. */
  private readonly lists = new Map<string, readonly OutgoingComment[]>();
  /** Whose they are. */
  private author = "";

  constructor(
    private readonly client: Context,
    private readonly deps: OutgoingDeps,
  ) {}

  of(post: string): readonly OutgoingComment[] {
    return (this.author === this.client.me() && this.lists.get(post)) || none;
  }

  /** Sends a comment, which is in the list of its post until it is stored. */
  async send(o: OutgoingComment): Promise<Comment> {
    const user = this.client.me();
    if (this.author !== user) this.lists.clear();
    this.author = user;
    const others = (list: readonly OutgoingComment[]) => list.filter((e) => e.key !== o.key);
    this.set(o.post, (list) => (list.some((e) => e.key === o.key) ? list.map((e) => (e.key === o.key ? o : e)) : [...list, o]));
    try {
      const comment = await resend(this.client, () => this.deps.create(o));
      this.deps.onCreated(comment);
      this.set(o.post, others);
      return comment;
    } catch (err) {
      const failed = asError(err);
      this.set(o.post, this.author === user ? (list) => list.map((e) => (e.key === o.key ? { ...o, failed } : e)) : others);
      throw err;
    }
  }

  retry(post: string, key: string): Promise<Comment> {
    const failed = this.of(post).find((o) => o.key === key && o.failed);
    if (!failed) return Promise.reject(new RialtoError("not_found", "no such comment waits to be sent again"));
    const { failed: _, ...o } = failed;
    return this.send(o);
  }

  discard(post: string, key: string): void {
    this.set(post, (list) => list.filter((o) => o.key !== key || !o.failed));
  }

  private set(post: string, change: (list: readonly OutgoingComment[]) => readonly OutgoingComment[]): void {
    const list = change(this.lists.get(post) ?? none);
    if (list.length > 0) this.lists.set(post, list);
    else this.lists.delete(post);
    this.client.snapshots.touch();
  }
}
