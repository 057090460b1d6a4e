import { PostKind, type ShownLess } from "../gen/rialto/ranking/v1/ranking_pb.js";
import type { PostEntries } from "../postEntries.js";
import type { Context } from "./context.js";
import { entriesOf, hasPost } from "./engagement.js";

/** What the user wants to see less of: an author, or a kind of posts. */
export type LessOf = { readonly author: string } | { readonly kind: PostKind };

/** Posts that are ranked for the user. */
export function ranking(client: Context) {
  const { rankingApi } = client.services;
  const target = (of: LessOf) => ("author" in of ? { author: of.author, kind: PostKind.UNSPECIFIED } : { author: "0", kind: of.kind });
  return {
    /** The posts that are ranked for the user, with the reasons. A refresh ranks again. */
    forYou: (): PostEntries =>
      entriesOf(client, async (page) => {
        const r = await rankingApi.forYou({ page });
        return { posts: r.posts.filter(hasPost).map(({ post, reasons, kind }) => ({ post, timeMs: 0, likesOfPeriod: 0, ranked: { reasons, kind } })), next: r.next };
      }),

    /** Shows fewer posts of an author or of a kind among those that are ranked: none of the author for 30 days. */
    async showLess(of: LessOf): Promise<void> {
      await rankingApi.showLess(target(of));
    },

    /** Ends what showLess began. */
    async showAgain(of: LessOf): Promise<void> {
      await rankingApi.showAgain(target(of));
    },

    /** What the user wants to see less of, the latest first. */
    async shownLess(): Promise<readonly ShownLess[]> {
      return (await rankingApi.listShownLess({})).entries;
    },
  };
}
