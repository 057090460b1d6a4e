import { ImpressionRecorder } from "../impressions.js";
import { PostKind, type ShownLess } from "../gen/rialto/ranking/v1/ranking_pb.js";
import type { PostEntries } from "../postEntries.js";
import type { Context } from "./context.js";
import { entriesOf, hasPost } from "./engagement.js";

/** What the user wants to see less of: an author, or a kind of posts. */
export type LessOf = { readonly author: string } | { readonly kind: PostKind };

/** Posts that are ranked for the user. */
export function ranking(client: Context) {
  const { rankingApi } = client.services;
  let reader = "";
  const recorder = new ImpressionRecorder({ record: (made) => rankingApi.recordClicks(made), isOff: () => client.session()?.settings.current?.noPersonalization ?? false });
  const ofUser = (): ImpressionRecorder => {
    if (reader !== client.me()) recorder.forget();
    reader = client.me();
    return recorder;
  };
  const target = (of: LessOf) => ("author" in of ? { author: of.author, kind: PostKind.UNSPECIFIED } : { author: "0", kind: of.kind });
  return {
    /** The posts that are ranked for the user, with the reasons. A refresh ranks again. */
    forYou: (): PostEntries =>
      entriesOf(client, async (page) => {
        const r = await rankingApi.forYou({ page });
        ofUser().shown(r.posts.flatMap(({ post }) => post?.id ?? []));
        return { posts: r.posts.filter(hasPost).map(({ post, reasons, kind }) => ({ post, timeMs: 0, likesOfPeriod: 0, ranked: { reasons, kind } })), next: r.next };
      }),

    /** The user opened a post, its link, its video or its goods. If it is one that forYou gave, that is recorded some seconds later, with others. */
    postOpened(post: string): void {
      ofUser().opened(post);
    },

    /** A post came onto the screen, or left it: how long a post of forYou is on the screen is recorded. */
    postOnScreen(post: string, isOn: boolean): void {
      ofUser().onScreen(post, isOn);
    },

    /** Records at once what was opened and how long posts were on the screen, as before the page is left. It does not fail. */
    recordImpressions(): Promise<void> {
      return ofUser().flush();
    },

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
