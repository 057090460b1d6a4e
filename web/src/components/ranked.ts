import { PostKind, RankReason, type LessOf } from "@rialto-im/client";
import { createContext, useContext } from "react";
import { getLocale, type Key, type Translate } from "../i18n.js";

/** Why a post is shown that was ranked for the user, and what the user can do about it. */
export interface Ranked {
  readonly reasons: readonly RankReason[];
  readonly kind: PostKind;
  readonly showLess: (of: LessOf) => void;
}

/** Tells of a post by its id why it is shown: within the list of ranked posts. */
export const RankedPosts = createContext<(post: string) => Ranked | undefined>(() => undefined);

export function useRanked(post: string): Ranked | undefined {
  return useContext(RankedPosts)(post);
}

const reasonNames: Partial<Record<RankReason, Key>> = {
  [RankReason.FOLLOWED]: "whyFollowed",
  [RankReason.NETWORK]: "whyNetwork",
  [RankReason.POPULAR]: "whyPopular",
  [RankReason.AFFINITY]: "whyAffinity",
  [RankReason.RECENT]: "whyRecent",
  [RankReason.DISCUSSED]: "whyDiscussed",
};

/** The reasons in words. Those that this app does not know are left out. */
export function reasonText(reasons: readonly RankReason[], t: Translate): string {
  const known = reasons.flatMap((r) => reasonNames[r] ?? []).map((key) => t(key));
  return known.length === 0 ? t("whyPopular") : known.join(getLocale() === "zh" ? "；" : " · ");
}

/** What posts of a kind are called. */
export const kindNames: Record<PostKind, Key> = {
  [PostKind.UNSPECIFIED]: "kindTexts",
  [PostKind.TEXT]: "kindTexts",
  [PostKind.LINK]: "kindLinks",
  [PostKind.IMAGES]: "kindImages",
  [PostKind.GOODS]: "kindGoods",
  [PostKind.VIDEO]: "kindVideos",
  [PostKind.REPOST]: "kindReposts",
};
