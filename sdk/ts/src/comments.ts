import type { MessageInitShape } from "@bufbuild/protobuf";
import { withEngagement, type EngagementChange } from "./engagements.js";
import type { RialtoError } from "./errors.js";
import type { Comment, CommentContentSchema } from "./gen/rialto/comment/v1/comment_pb.js";
import { PagedList } from "./pagedList.js";
import { isBefore } from "./posts.js";

/** What a comment says: a text, an image of one's own, or both. */
export type NewComment = Omit<MessageInitShape<typeof CommentContentSchema>, "$typeName">;

/** A comment that was written here and that the server has not confirmed. */
export interface OutgoingComment {
  /** What it is created with: the same for each try. */
  readonly key: string;
  readonly post: string;
  /** The comment at the top of the thread of a reply, and the one that it answers, with its author; "0" of a top comment. */
  readonly top: string;
  readonly replyTo: string;
  readonly replyToAuthor: string;
  readonly content: NewComment;
  /** Why it could not be sent. It stays until it is sent again or discarded. */
  readonly failed?: RialtoError;
}

/** Is told what the user does with comments on this device. */
export interface CommentWatcher {
  created(comment: Comment): void;
  changed(comment: Comment): void;
  /** A comment was deleted, which was as given. */
  removed(comment: Comment): void;
}

export interface CommentPage {
  readonly comments: readonly Comment[];
  /** What reads the next page; empty at the end. */
  readonly next: string;
}

export type CommentSorting = "newest" | "oldest" | "likes";

export interface CommentListDeps {
  /** Reads the page of a token; the first one for "". */
  read: (page: string, limit: number) => Promise<CommentPage>;
  post: string;
  /** The comment at the top of the thread whose replies are listed; "0": the top comments are. */
  top: string;
  sorting: CommentSorting;
  onChange: () => void;
}

const pageSize = 20;
const mostOfPage = 50; // of the server
/** So many pages are read at once, at most. */
const mostPages = 10;

/**
 * CommentList is the top comments of a post, or the replies of a thread, read in pages. What is written, edited and deleted here shows at once.
 * No comment comes twice, and none is skipped.
 */
export class CommentList extends PagedList implements CommentWatcher {
  comments: readonly Comment[] = [];
  /** Comments that were written here and that belong behind pages that were not read yet. */
  own: readonly Comment[] = [];
  private next = "";
  /** What was edited and deleted here: a page that was asked for before may not have it yet. */
  private readonly edited = new Map<string, Comment>();
  private readonly deleted = new Set<string>();

  constructor(private readonly deps: CommentListDeps) {
    super(deps.onChange);
  }

  protected async readMore(): Promise<void> {
    if (this.loaded && !this.hasMore) return;
    const { comments, next } = await this.pages(this.next, pageSize, (found) => found > 0);
    const known = new Set(this.comments.map((c) => c.id));
    this.show([...this.comments, ...comments.filter((c) => !known.has(c.id))], next);
  }

  /** Reads the list again as far as it was read, ten pages at most. */
  refresh(): Promise<void> {
    return this.inTurn(async () => {
      const had = this.comments.length;
      const { comments, next } = await this.pages("", had > pageSize ? mostOfPage : pageSize, (found) => found > 0 && found >= had);
      this.show(comments, next);
    });
  }

  created(c: Comment): void {
    if (c.subject !== this.deps.post) return;
    if (c.top === this.deps.top) {
      this.own = [...this.own, c];
      this.settle();
    } else if (this.deps.top === "0") {
      this.comments = this.comments.map((top) => (top.id === c.top ? { ...top, replies: top.replies + 1 } : top));
    }
    this.deps.onChange();
  }

  changed(c: Comment): void {
    this.edited.set(c.id, c);
    const place = (old: Comment) => (old.id === c.id ? { ...c, replies: old.replies, likes: old.likes, liked: old.liked } : old);
    this.comments = this.comments.map(place);
    this.own = this.own.map(place);
    this.deps.onChange();
  }

  /** The user likes a comment, or takes the like back. */
  engaged(change: EngagementChange): void {
    const place = (c: Comment) => withEngagement(c, change);
    this.comments = this.comments.map(place);
    this.own = this.own.map(place);
    for (const [id, c] of this.edited) this.edited.set(id, place(c));
    this.deps.onChange();
  }

  removed(c: Comment): void {
    this.deleted.add(c.id);
    const place = (old: Comment) => (old.id === c.top ? { ...old, replies: Math.max(0, old.replies - 1) } : old);
    const rest = (list: readonly Comment[]) => list.map((old) => this.withoutDeleted(place(old))).filter((old) => old !== undefined);
    this.comments = rest(this.comments);
    this.own = rest(this.own);
    this.deps.onChange();
  }

  /** Reads pages from one on, until enough was found. A page may be empty although others follow. */
  private async pages(page: string, limit: number, isEnough: (found: number) => boolean): Promise<CommentPage> {
    const comments: Comment[] = [];
    for (let n = 1; ; n++) {
      const read = await this.deps.read(page, limit);
      comments.push(...this.current(read.comments));
      if (read.next === "" || n === mostPages || isEnough(comments.length)) return { comments, next: read.next };
      page = read.next;
    }
  }

  private show(comments: readonly Comment[], next: string): void {
    this.comments = this.current(comments); // once more: some may have been deleted since the page came
    this.loaded = true;
    this.next = next;
    this.hasMore = next !== "";
    this.settle();
  }

  /** Puts what was written here into its place, where that was read. */
  private settle(): void {
    const known = new Set(this.comments.map((c) => c.id));
    this.own = this.own.filter((c) => !known.has(c.id));
    const { sorting } = this.deps;
    if (!this.loaded || (this.hasMore && sorting === "oldest")) return;
    const own = [...this.own].sort((a, b) => (isBefore(a.id, b.id) === (sorting !== "oldest") ? 1 : -1));
    const merged = [...own, ...this.comments];
    this.comments = sorting === "likes" ? merged : merged.sort((a, b) => (isBefore(a.id, b.id) === (sorting === "newest") ? 1 : -1));
    this.own = [];
  }

  /** Comments as they are now, without those that were deleted. */
  private current(comments: readonly Comment[]): Comment[] {
    return comments.map((c) => this.withoutDeleted(this.newestOf(c))).filter((c) => c !== undefined);
  }

  private newestOf(c: Comment): Comment {
    const edited = this.edited.get(c.id);
    return edited && edited.editedMs > c.editedMs ? { ...edited, replies: c.replies, likes: c.likes, liked: c.liked } : c;
  }

  /** What is left of a comment once it is deleted: of a top comment with replies, its empty place. */
  private withoutDeleted(c: Comment): Comment | undefined {
    if (!c.deleted && !this.deleted.has(c.id)) return c;
    return c.replies > 0 ? { ...c, deleted: true, author: "0", content: undefined } : undefined;
  }
}

const mostCounts = 500;

/** What comments that were written and deleted here change of the counts that posts were read with. */
export class CommentCounts {
  /** The change since a post was read with a count; undefined: since it was read last. */
  private readonly changes = new Map<string, { read: number | undefined; by: number }>();

  /** How many comments a post has. Once it is read with another count, that counts. */
  of(post: { readonly id: string; readonly comments: number }): number {
    const change = this.changes.get(post.id);
    if (!change) return post.comments;
    change.read ??= post.comments;
    return change.read === post.comments ? Math.max(0, post.comments + change.by) : post.comments;
  }

  /** Counts comments that were written here, or with a negative number those that were deleted. */
  add(post: string, n: number): void {
    const known = this.changes.get(post);
    this.changes.delete(post);
    this.changes.set(post, { read: known?.read, by: (known?.by ?? 0) + n });
    if (this.changes.size > mostCounts) this.changes.delete(this.changes.keys().next().value!);
  }

  clear(): void {
    this.changes.clear();
  }
}
