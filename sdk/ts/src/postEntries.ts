import { withEngagement, type EngagementChange } from "./engagements.js";
import type { Post } from "./gen/rialto/feed/v1/feed_pb.js";
import type { PostKind, RankReason } from "./gen/rialto/ranking/v1/ranking_pb.js";
import { PageList, type ListPage } from "./pagedList.js";
import { placeOf, shownOf, withChanged, withoutReposted, type PostWatcher } from "./posts.js";
import type { ShownPost } from "./shown.js";

/** Posts that the user likes, has among the favourites or has viewed, or that are popular: what pages of them have. */
export interface PostEntry {
  readonly post: Post;
  /** When the user liked, favourited or last viewed it, milliseconds since 1970; 0 of popular posts. */
  readonly timeMs: number;
  /** Likes within the period, of popular posts of one. */
  readonly likesOfPeriod: number;
  /** Why a post is shown that was ranked for the user, its source first, and what it mainly is. */
  readonly ranked?: { readonly reasons: readonly RankReason[]; readonly kind: PostKind };
}

/** PostEntries is a list of posts that are not sorted by age. Pass it to watchPosts while it is shown. */
export class PostEntries extends PageList<PostEntry> implements PostWatcher {
  /** Posts that the user may not see any more, without their content: their place stays until the list is read again. */
  gone: ReadonlySet<string> = new Set();

  constructor(read: (page: string) => Promise<ListPage<PostEntry>>, onChange: () => void) {
    super({ read, idOf: (e) => e.post.id, onChange });
  }

  shown(): readonly ShownPost[] {
    return shownOf(this.items.map((e) => e.post));
  }

  protected override replaced(): void {
    this.gone = new Set();
  }

  changed(post: Post): void {
    this.gone = new Set([...this.gone].filter((id) => id !== post.id));
    this.updatePosts((p) => withChanged(p, post));
  }

  /** What the user deletes here disappears. What is gone for another reason keeps its place, so that the view does not move. */
  removed(post: string, here = false): void {
    if (here || !this.items.some((e) => e.post.id === post)) this.remove(post);
    else this.gone = new Set([...this.gone, post]);
    this.updatePosts((p) => (p.id === post ? placeOf(p) : withoutReposted(p, post)));
  }

  engaged(change: EngagementChange): void {
    this.updatePosts((p) => withEngagement(p, change));
  }

  published(): void {} // it is in none of these lists yet

  /** Takes out the posts of an author, whom the user wants to see less of. */
  removeOf(author: string): void {
    for (const { post } of this.items) if (post.author === author) this.remove(post.id);
  }

  private updatePosts(change: (p: Post) => Post): void {
    this.update((e) => {
      const post = change(e.post);
      return post === e.post ? e : { ...e, post };
    });
  }
}
