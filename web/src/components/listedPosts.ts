import type { ListedPosts, Posts } from "@rialto-im/client/react";

/** A list of posts that are not sorted by age: new ones come when it is read again. */
export function postsOf({ posts, gone, loading, error, hasMore, loadMore, refresh }: ListedPosts): Posts {
  return { posts: posts.map((e) => e.post), gone, fresh: 0, hasMoreFresh: false, loading, error, hasMore, loadMore, showNew: refresh };
}
