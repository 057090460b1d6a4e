import { withEngagement, type EngagementChange } from "./engagements.js";
import type { Post } from "./gen/rialto/feed/v1/feed_pb.js";
import { PageList, type ListPage } from "./pagedList.js";
import { shownOf, withChanged, withoutReposted, type PostWatcher } from "./posts.js";
import type { ShownPost } from "./shown.js";

/** Posts that the user likes, has among the favourites or has viewed, or that are popular: what pages of them have. */
export interface PostEntry {
  readonly post: Post;
  /** When the user liked, favourited or last viewed it, milliseconds since 1970; 0 of popular posts. */
  readonly timeMs: number;
  /** Likes within the period, of popular posts of one. */
  readonly likesOfPeriod: number;
}

/** PostEntries is a list of posts that are not sorted by age. Pass it to watchPosts while it is shown. */
export class PostEntries extends PageList<PostEntry> implements PostWatcher {
  constructor(read: (page: string) => Promise<ListPage<PostEntry>>, onChange: () => void) {
    super({ read, idOf: (e) => e.post.id, onChange });
  }

  shown(): readonly ShownPost[] {
    return shownOf(this.items.map((e) => e.post));
  }

  changed(post: Post): void {
    this.updatePosts((p) => withChanged(p, post));
  }

  removed(post: string): void {
    this.remove(post);
    this.updatePosts((p) => withoutReposted(p, post));
  }

  engaged(change: EngagementChange): void {
    this.updatePosts((p) => withEngagement(p, change));
  }

  published(): void {} // it is in none of these lists yet

  private updatePosts(change: (p: Post) => Post): void {
    this.update((e) => {
      const post = change(e.post);
      return post === e.post ? e : { ...e, post };
    });
  }
}
