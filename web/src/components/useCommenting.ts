import type { Answered, Comment } from "@rialto-im/client";
import { useCallback, useEffect, useRef, useState } from "react";
import { useAction } from "../action.js";
import { client, commentDrafts, useOnline } from "../client.js";
import { commentOf, emptyDraft, isWritten, type CommentDraft, type SentComment } from "../commentDraft.js";
import { uploadImage } from "../postDraft.js";

function send(post: string, s: SentComment): Promise<void> {
  return client.createComment(post, commentOf(s), { key: s.key, ...(s.replyTo ? { replyTo: s.replyTo } : {}) }).then(
    () => commentDrafts.forgetSent(post, s.key),
    () => {}, // the list of comments shows why, and offers to send it again
  );
}

/** Sends a comment again that was refused. */
export function retry(post: string, key: string): void {
  void client.retryComment(post, key).then(() => commentDrafts.forgetSent(post, key), () => {}); // likewise
}

export function discard(post: string, key: string): void {
  commentDrafts.forgetSent(post, key);
  client.discardComment(post, key);
}

/** What somebody writes below a post, and what they answer with it. What an earlier page sent without an answer is sent again. */
export function useCommenting(post: string) {
  const online = useOnline();
  const { run, error } = useAction();
  const [draft, setDraft] = useState<CommentDraft>(() => commentDrafts.load(post));
  const latest = useRef(draft);
  const [answered, setAnswered] = useState<Comment>();
  const [uploading, setUploading] = useState("");
  const change = useCallback((next: (d: CommentDraft) => CommentDraft) => {
    latest.current = next(latest.current);
    commentDrafts.store(post, latest.current);
    setDraft(latest.current);
  }, [post]);

  useEffect(() => {
    if (!online) return;
    const known = new Set(client.outgoingComments(post).map((o) => o.key));
    for (const s of commentDrafts.sent(post)) if (!known.has(s.key)) void send(post, s);
  }, [post, online]);

  const addImage = (file: File) =>
    run(async () => {
      setUploading(file.name);
      try {
        const image = await uploadImage(client, file);
        change((d) => ({ ...d, image }));
      } finally {
        setUploading("");
      }
    });

  const submit = () => {
    if (!isWritten(latest.current) || uploading) return;
    const replyTo: Answered | undefined = answered && { id: answered.id, top: answered.top, author: answered.author };
    const sent: SentComment = { ...latest.current, key: crypto.randomUUID(), ...(replyTo ? { replyTo } : {}) };
    commentDrafts.storeSent(post, sent);
    change(() => emptyDraft);
    setAnswered(undefined);
    void send(post, sent);
  };

  return { draft, change, answered, answer: setAnswered, uploading, addImage, submit, error };
}

export type Commenting = ReturnType<typeof useCommenting>;
