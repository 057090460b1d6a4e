import { SubjectKind, type Comment } from "../gen/rialto/comment/v1/comment_pb.js";
import { resend } from "../resend.js";
import type { Context } from "./context.js";

export interface NewTimedComment {
  /** The post that shows the video. */
  readonly post: string;
  readonly video: string;
  readonly timeMs: number;
  /** At most 100 characters in one line. */
  readonly text: string;
}

/** Comments on times of videos, which are shown over the picture. */
export function timedComments(client: Context) {
  const { commentApi } = client.services;
  return {
    /** The comments of a window of a video, sorted by their time: of each ten seconds the newest 100. A window is at most a minute long. */
    async timedComments(post: string, video: string, fromMs: number, toMs: number): Promise<Comment[]> {
      return (await commentApi.listTimedComments({ post, video, fromMs, toMs })).comments;
    },

    /** Comments on a time of a video. */
    createTimedComment({ post, video, timeMs, text }: NewTimedComment): Promise<Comment> {
      const clientCommentId = crypto.randomUUID();
      return resend(client, () => commentApi.createComment({ clientCommentId, subjectKind: SubjectKind.VIDEO, subject: post, video, timeMs: Math.round(timeMs), content: { text } }));
    },

    /** Deletes one's own comment on a video, or one on one's own video. A retry is harmless. */
    async deleteTimedComment(comment: string): Promise<void> {
      await resend(client, () => commentApi.deleteComment({ comment }));
    },
  };
}
