import { withEngagement, type EngagementChange } from "./engagements.js";
import type { Post } from "./gen/rialto/feed/v1/feed_pb.js";
import { PagedList } from "./pagedList.js";
import type { ShownPost } from "./shown.js";

/** Is told what becomes known of posts on this device. */
export interface PostWatcher {
  /** A post was read or edited. */
  changed(post: Post): void;
  /** A post was deleted, or is not for the user any more. here: the user has just deleted it on this device. */
  removed(post: string, here?: boolean): void;
  /** The posts that are shown, of whose changes the server tells: at most 100. */
  shown?(): readonly ShownPost[];
  /** The user published a post. */
  published(): void;
  /** The user did something with a post or comment, or it was taken back. */
  engaged?(change: EngagementChange): void;
}

export interface PostPage {
  readonly posts: readonly Post[];
  /** What reads the next page; "0" at the end. */
  readonly next: string;
}

export interface PostListDeps {
  /** Reads the page of the posts before one; the newest ones, where before is "0". */
  read: (before: string, limit: number) => Promise<PostPage>;
  /** Whether the user's own posts are in the list. */
  hasOwn: boolean;
  onChange: () => void;
}

const pageSize = 20;
const mostOfPage = 50; // of the server
/** So many pages are read from the top at once, at most. */
const mostPages = 10;
/** So many posts at each end of a list are watched for changes. */
const mostAtEnd = 40;
/** So many edited posts are kept for pages that were asked for before. */
const mostEdited = 200;
const newest = "0";

/** Compares ids of posts: the newest first. */
function byAge(a: Post, b: Post): number {
  return isBefore(a.id, b.id) ? 1 : isBefore(b.id, a.id) ? -1 : 0;
}

/** Whether an id is less than another one. */
export function isBefore(a: string, b: string): boolean {
  return a.length === b.length ? a < b : a.length < b.length;
}

/**
 * PostList is a list of posts, the newest first, that is read in pages. New posts wait until showNew, so that the view does not move. No
 * post comes twice, and none is skipped.
 */
export class PostList extends PagedList implements PostWatcher {
  posts: readonly Post[] = [];
  /** Posts that are in posts, without their content, and that the user may not see any more: their place stays until the list is read again. */
  gone: ReadonlySet<string> = new Set();
  /** New posts that are not in posts yet. */
  fresh: readonly Post[] = [];
  /** There are more new posts than fresh has. */
  hasMoreFresh = false;
  private next = newest;
  /** The next of the pages in fresh, if there is a gap between them and posts. */
  private freshNext = newest;
  /** What was edited and deleted here: a page that was asked for before may not have it yet. */
  private readonly edited = new Map<string, Post>();
  private readonly deleted = new Set<string>();

  constructor(private readonly deps: PostListDeps) {
    super(deps.onChange);
  }

  /** Reads the list again as far as it was read, ten pages at most, with the new posts. */
  refresh(): Promise<void> {
    return this.inTurn(async () => {
      const end = this.posts.at(-1)?.id;
      this.replace(end === undefined ? await this.pages(pageSize, () => true) : await this.pages(mostOfPage, (next) => !isBefore(end, next)));
    });
  }

  protected async readMore(): Promise<void> {
    if (this.loaded && !this.hasMore) return;
    const { posts, next } = this.current(await this.pages(pageSize, (_, found) => found > 0, this.next));
    const known = new Set(this.posts.map((p) => p.id));
    this.posts = [...this.posts, ...posts.filter((p) => !known.has(p.id))];
    this.goTo(next);
  }

  /** Reads from the top to what is known. New posts wait in fresh; what changed shows at once. */
  check(): Promise<void> {
    return this.inTurn(() => this.checkNow());
  }

  private async checkNow(): Promise<void> {
    const top = this.posts[0]?.id;
    if (!this.loaded || top === undefined) return this.replace(await this.pages(pageSize, () => true));
    const read = this.current(await this.pages(pageSize, (next) => !isBefore(top, next)));
    const found = new Map(read.posts.map((p) => [p.id, p]));
    const isRead = (id: string) => read.next === newest || !isBefore(id, read.next);
    this.gone = new Set(this.posts.filter(({ id }) => (isRead(id) ? !found.has(id) : this.gone.has(id))).map((p) => p.id));
    this.posts = this.posts.map((p) => found.get(p.id) ?? (this.gone.has(p.id) ? placeOf(p) : p));
    const known = new Set(this.posts.map((p) => p.id));
    this.hasMoreFresh = isBefore(top, read.next);
    const isNew = (p: Post) => !known.has(p.id) && !(this.hasMore && isBefore(p.id, this.next)); // those below come with the next page
    const earlier = this.hasMoreFresh ? [] : this.fresh.filter((p) => !isRead(p.id));
    this.fresh = [...read.posts.filter(isNew), ...earlier].sort(byAge);
    this.freshNext = read.next;
  }

  /** Shows the new posts. Where they are too many, the list begins again with them. */
  showNew(): Promise<void> {
    return this.inTurn(async () => this.showNewNow());
  }

  private showNewNow(): void {
    if (this.hasMoreFresh) return this.replace({ posts: this.fresh, next: this.freshNext });
    this.posts = [...this.fresh, ...this.posts].sort(byAge);
    this.fresh = [];
  }

  /** The posts at both ends of the list, with those that they repost. */
  shown(): readonly ShownPost[] {
    return shownOf(this.posts);
  }

  changed(post: Post): void {
    this.deleted.delete(post.id); // one that was hidden may be shown again
    this.edited.delete(post.id);
    this.edited.set(post.id, post);
    if (this.edited.size > mostEdited) this.edited.delete(this.edited.keys().next().value!);
    this.gone = new Set([...this.gone].filter((id) => id !== post.id));
    const place = (p: Post): Post => (p.id === post.id ? this.newestOf(p) : withChanged(p, post));
    this.posts = this.posts.map(place);
    this.fresh = this.fresh.map(place);
    this.deps.onChange();
  }

  engaged(change: EngagementChange): void {
    const place = (p: Post): Post => withEngagement(p, change);
    this.posts = this.posts.map(place);
    this.fresh = this.fresh.map(place);
    for (const [id, p] of this.edited) this.edited.set(id, place(p));
    this.deps.onChange();
  }

  /** What the user deletes here disappears. What is gone for another reason keeps its place, so that the view does not move. */
  removed(post: string, here = false): void {
    this.deleted.add(post);
    if (here) this.posts = this.posts.filter((p) => p.id !== post);
    else if (this.posts.some((p) => p.id === post)) this.gone = new Set([...this.gone, post]);
    this.posts = this.posts.map((p) => (p.id === post ? placeOf(p) : withoutReposted(p, post)));
    this.fresh = this.fresh.filter((p) => p.id !== post).map((p) => withoutReposted(p, post));
    this.deps.onChange();
  }

  /** The user's own post shows at once, with all that came before it. */
  published(): void {
    this.inTurn(async () => {
      if (!this.loaded || !this.deps.hasOwn) return;
      await this.checkNow();
      this.showNewNow();
    }).catch(() => {}); // the next check finds it
  }

  /** Reads pages from one on, until one is the last that is wanted. A page may be empty although others follow. */
  private async pages(limit: number, isLast: (next: string, found: number) => boolean, before = newest): Promise<PostPage> {
    const posts: Post[] = [];
    for (let n = 1; ; n++) {
      const page = await this.deps.read(before, limit);
      posts.push(...this.current(page).posts);
      if (page.next === newest || n === mostPages || isLast(page.next, posts.length)) return { posts, next: page.next };
      before = page.next;
    }
  }

  /** Posts that were read, as they are now: some may have been edited or deleted since their page came. */
  private current({ posts, next }: PostPage): PostPage {
    const place = (p: Post): Post => (p.reposted && this.deleted.has(p.reposted.id) ? withoutReposted(p, p.reposted.id) : p);
    return { posts: posts.filter((p) => !this.deleted.has(p.id)).map((p) => place(this.newestOf(p))), next };
  }

  private newestOf(p: Post): Post {
    const edited = this.edited.get(p.id);
    if (!edited || edited.version < p.version) return p;
    const { likes, favourites, comments, reposts, views, liked, favourited } = p; // they change without a new version
    return { ...edited, likes, favourites, comments, reposts, views, liked, favourited };
  }

  private replace(read: PostPage): void {
    const { posts, next } = this.current(read);
    this.posts = posts;
    this.gone = new Set();
    this.fresh = [];
    this.hasMoreFresh = false;
    this.goTo(next);
  }

  private goTo(next: string): void {
    this.loaded = true;
    this.next = next;
    this.hasMore = next !== newest;
  }
}

/** The posts at both ends of a list, with those that they repost: what is watched for changes. */
export function shownOf(posts: readonly Post[]): readonly ShownPost[] {
  const ends = posts.length > 2 * mostAtEnd ? [...posts.slice(0, mostAtEnd), ...posts.slice(-mostAtEnd)] : posts;
  return ends.flatMap((p) => (p.reposted ? [p, p.reposted] : [p]));
}

/** A post after a change of it, or of the one that it reposts. */
export function withChanged(p: Post, post: Post): Post {
  return p.id === post.id ? post : p.reposted?.id === post.id ? { ...p, reposted: { ...post, reposted: undefined } } : p;
}

/** The place of a post that is gone: nothing of what it said. */
export function placeOf(p: Post): Post {
  return { ...p, content: undefined, reposted: undefined };
}

/** A post without the one that it reposts, if that is gone. */
export function withoutReposted(p: Post, post: string): Post {
  return p.reposted?.id === post ? { ...p, reposted: undefined } : p;
}
