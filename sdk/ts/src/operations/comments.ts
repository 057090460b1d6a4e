import { CommentCounts, CommentList, type CommentPage, type CommentSorting, type CommentWatcher, type NewComment, type OutgoingComment } from "../comments.js";
import { CommentOrder, SubjectKind, type Comment } from "../gen/rialto/comment/v1/comment_pb.js";
import type { Post } from "../gen/rialto/feed/v1/feed_pb.js";
import { Outgoing } from "../outgoingComments.js";
import { watchersOf } from "../postWatchers.js";
import type { Context } from "./context.js";

const subjectKind = SubjectKind.POST;
const orders: Record<CommentSorting, CommentOrder> = { newest: CommentOrder.NEWEST, oldest: CommentOrder.OLDEST, likes: CommentOrder.LIKES };

/** What a reply answers. */
export type Answered = Pick<Comment, "id" | "top" | "author">;

/** Comments on posts, and replies to comments. */
export function comments(client: Context) {
  const { commentApi } = client.services;
  const watchers = new Set<CommentWatcher>();
  const onChange = () => client.snapshots.touch();
  const counts = new CommentCounts();
  let countedFor = "";
  const countsOfUser = (): CommentCounts => {
    if (countedFor !== client.me()) counts.clear();
    countedFor = client.me();
    return counts;
  };
  /** A page, with what the user likes meanwhile. */
  const read = (page: Promise<CommentPage>): Promise<CommentPage> =>
    watchersOf(client).engagements.read(() => page, ({ comments: list, next }, shown) => ({ comments: list.map((c) => shown(c)), next }));
  const tell = (what: (w: CommentWatcher) => void) => [...watchers].forEach(what);
  const outgoing = new Outgoing(client, {
    create: (o) => commentApi.createComment({ clientCommentId: o.key, subjectKind, subject: o.post, replyTo: o.replyTo, content: o.content }),
    onCreated: (comment) => {
      countsOfUser().add(comment.subject, 1);
      tell((w) => w.created(comment));
    },
  });

  return {
    ...writing(outgoing),

    /** The top comments of a post. Pass the list to watchComments while it is shown. */
    commentsOf(post: string, sorting: CommentSorting = "newest"): CommentList {
      const order = orders[sorting];
      return new CommentList({ read: (page, limit) => read(commentApi.listComments({ subjectKind, subject: post, order, page, limit })), post, top: "0", sorting, onChange });
    },

    /** The replies of a thread, the oldest first. Pass the list to watchComments while it is shown. */
    repliesTo(top: Comment): CommentList {
      const replies = (page: string, limit: number) => commentApi.listReplies({ comment: top.id, page, limit }).then((r) => ({ comments: r.replies, next: r.next }));
      return new CommentList({ read: (page, limit) => read(replies(page, limit)), post: top.subject, top: top.id, sorting: "oldest", onChange });
    },

    /** A comment. Fails with no_comment where there is none that the user may see. */
    getComment(comment: string): Promise<Comment> {
      return commentApi.getComment({ comment });
    },

    /** Replaces the content of one's own comment. */
    async editComment(comment: string, content: NewComment): Promise<Comment> {
      const changed = await commentApi.editComment({ comment, content });
      tell((w) => w.changed(changed));
      return changed;
    },

    /** Deletes one's own comment, or one on one's own post. Of a top comment with replies, the empty place stays. */
    async deleteComment(comment: Comment): Promise<void> {
      await commentApi.deleteComment({ comment: comment.id });
      countsOfUser().add(comment.subject, -1);
      tell((w) => w.removed(comment));
      onChange();
    },

    /** How many comments and replies a post has, with what is done here. */
    commentCount(post: Pick<Post, "id" | "comments">): number {
      return countsOfUser().of(post);
    },

    /** Keeps a list, or anything else, up to date with what is done here. Call what is returned to end it. */
    watchComments(watcher: CommentWatcher): () => void {
      watchers.add(watcher);
      return () => void watchers.delete(watcher);
    },
  };
}

/** What one writes. */
function writing(outgoing: Outgoing) {
  return {
    /**
     * Comments on a post, or replies to a comment. Until it is stored, it is in outgoingComments. It is sent again with the same key where the
     * answer is lost, and stored once. If it fails, it stays there, for retryComment or discardComment.
     */
    createComment(post: string, content: NewComment, { replyTo, key = crypto.randomUUID() }: { replyTo?: Answered; key?: string } = {}): Promise<Comment> {
      const answered = replyTo ? { top: replyTo.top === "0" ? replyTo.id : replyTo.top, replyTo: replyTo.id, replyToAuthor: replyTo.author } : { top: "0", replyTo: "0", replyToAuthor: "0" };
      return outgoing.send({ key, post, ...answered, content });
    },

    /** Sends a comment again that could not be sent. */
    retryComment(post: string, key: string): Promise<Comment> {
      return outgoing.retry(post, key);
    },

    /** Forgets a comment that could not be sent. */
    discardComment(post: string, key: string): void {
      outgoing.discard(post, key);
    },

    /** The comments on a post that were written here and are not stored yet. */
    outgoingComments(post: string): readonly OutgoingComment[] {
      return outgoing.of(post);
    },
  };
}
