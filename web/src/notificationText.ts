import { NotificationKind as Kind, NotificationSubject, type Notification } from "@rialto-im/client";
import type { Key, Translate } from "./i18n.js";
import { path } from "./routes.js";

/** The kinds of notifications, with what the settings say of each. */
export const kinds: readonly (readonly [Kind, Key])[] = [
  [Kind.LIKE, "kindLikes"], [Kind.COMMENT, "kindComments"], [Kind.REPLY, "kindReplies"], [Kind.MENTION, "kindMentions"], [Kind.FOLLOW, "kindFollows"],
  [Kind.FRIEND_REQUEST, "kindRequests"], [Kind.POST, "kindPosts"], [Kind.REPOST, "kindReposts"],
];

/** The sentence of a kind; undefined for one that is newer than the app. */
function sentenceOf({ kind, subjectKind }: Notification): Key | undefined {
  const ofComment = subjectKind === NotificationSubject.COMMENT;
  switch (kind) {
    case Kind.LIKE:
      return ofComment ? "likedComment" : "likedPost";
    case Kind.COMMENT:
      return "commentedPost";
    case Kind.REPLY:
      return "repliedComment";
    case Kind.MENTION:
      return ofComment ? "mentionedInComment" : "mentionedInPost";
    case Kind.FOLLOW:
      return "followedYou";
    case Kind.FRIEND_REQUEST:
      return "requestedFriend";
    case Kind.POST:
      return "publishedPosts";
    case Kind.REPOST:
      return "repostedPost";
    default:
      return undefined;
  }
}

/** Who did it: one name, two names, or the newest one and how many others. */
export function whoOf(n: Notification, name: (user: string) => string, t: Translate): string {
  const names = n.actors.map((u) => `\u2068${name(u)}\u2069`); // names may be written from right to left
  const who = names[0] ?? "";
  if (n.moreActors && n.actorCount > 1) return t("whoMore", { who, n: n.actorCount - 1 });
  if (n.actorCount > 2) return t("whoOthers", { who, n: n.actorCount - 1 });
  return t("whoList", { who: names });
}

/** What a notification says; undefined for a kind that is newer than the app. */
export function notificationText(n: Notification, name: (user: string) => string, t: Translate): string | undefined {
  const sentence = sentenceOf(n);
  if (!sentence) return undefined;
  const who = whoOf(n, name, t);
  return n.kind === Kind.POST ? t(sentence, { who, n: n.itemCount }) : t(sentence, { who });
}

/** Where a notification leads: to the post, to who follows, of several the newest, or to who asks to be a friend. */
export function notificationPath(n: Notification): string {
  if (n.post !== "0") return path.post(n.post);
  return n.actorCount === 1 || n.kind === Kind.FOLLOW ? path.user(n.actors[0]!) : path.people;
}
