import { asError, isOffline, type Client, type NewPost, type Post } from "@rialto-im/client";
import { useRef, useState } from "react";
import { useAction } from "../action.js";
import { client, postDrafts } from "../client.js";
import { useText } from "../i18n.js";
import { contentOf, draftOf, isSame, mostImages, newDraft, uploadImage, type DraftVideo, type PostDraft, type PostImage } from "../postDraft.js";

/** What is written: a new post, a repost, or another content of a post of one's own. */
export type Writing = { kind: "new"; video?: DraftVideo } | { kind: "repost"; post: Post } | { kind: "edit"; post: Post };

/** The post that what is written shows below; "0": none. */
export function repostOf(w: Writing): string {
  return w.kind === "new" ? "0" : w.kind === "repost" ? w.post.id : (w.post.content?.repostOf ?? "0");
}

export const slotOf = (w: Writing) => (w.kind === "new" ? "new" : `${w.kind}/${w.post.id}`);

/** What the dialog of a post works on: the draft, which is stored at each change, its images, and how it is sent. */
export function usePostForm(of: Writing) {
  const t = useText();
  const { run, busy, error, setError } = useAction();
  const slot = slotOf(of);
  const [draft, setDraft] = useState<PostDraft>(() => firstDraft(of, postDrafts.load(slot)));
  const latest = useRef(draft);
  const change = (next: (d: PostDraft) => PostDraft) => {
    latest.current = next(latest.current);
    postDrafts.store(slot, latest.current);
    setDraft(latest.current);
  };
  const [uploading, setUploading] = useState<readonly string[]>([]);

  const addImages = (files: readonly File[]) => {
    const room = Math.max(0, mostImages - latest.current.images.length - uploading.length);
    const taken = files.slice(0, room);
    setUploading((names) => [...names, ...taken.map((f) => f.name)]);
    void run(async () => {
      for (const [i, file] of taken.entries()) {
        try {
          const image = await uploadImage(client, file);
          change((d) => ({ ...d, images: [...d.images, image] }));
        } catch (err) {
          setUploading((names) => without(names, taken.slice(i).map((f) => f.name)));
          throw err;
        }
        setUploading((names) => without(names, [file.name]));
      }
    });
    if (taken.length < files.length) setError(t("tooManyImages", { n: mostImages }));
  };

  /** Images besides those that are listed: how many are on their way. */
  const [single, setSingle] = useState(0);
  const addImage = (file: File, put: (d: PostDraft, image: PostImage) => PostDraft) => {
    setSingle((n) => n + 1);
    void run(async () => {
      try {
        const image = await uploadImage(client, file);
        change((d) => put(d, image));
      } finally {
        setSingle((n) => n - 1);
      }
    });
  };

  const send = (linkPreview: NewPost["linkPreview"], onDone: () => void) =>
    run(async () => {
      const content = { ...contentOf(latest.current, repostOf(of)), ...(linkPreview ? { linkPreview } : {}) };
      if (of.kind === "edit") await client.editPost(of.post.id, content, of.post.version);
      else await publish(client, latest.current, content, (tried) => change(({ tried: _, ...d }) => (tried ? { ...d, tried } : d)));
      postDrafts.discard(slot);
      onDone();
    });

  return { draft, change, discard: () => postDrafts.discard(slot), addImages, addImage, uploading, isUploading: uploading.length + single > 0, send, busy, error, setError };
}

/** The draft with which one begins: what was written before, or what is edited. */
function firstDraft(of: Writing, stored: PostDraft | undefined): PostDraft {
  const draft = stored ?? (of.kind === "edit" ? draftOf(of.post) : newDraft());
  return of.kind === "new" && of.video ? { ...draft, video: of.video } : draft;
}

/** Publishes a draft. What was sent before, without an answer, may be stored: it is sent again as it was, and then edited. */
async function publish(client: Client, draft: PostDraft, content: NewPost, onTried: (tried: NewPost | undefined) => void): Promise<void> {
  const first = draft.tried ?? content;
  onTried(first);
  let post: Post;
  try {
    post = await client.publishPost(first, draft.key);
  } catch (err) {
    if (!isOffline(err) && asError(err).code !== "unknown") onTried(undefined); // it was refused
    throw err;
  }
  if (!isSame(first, content)) await client.editPost(post.id, content, post.version);
}

/** A list without some of its texts, each once. */
function without(list: readonly string[], some: readonly string[]): readonly string[] {
  const rest = [...list];
  for (const s of some) if (rest.includes(s)) rest.splice(rest.indexOf(s), 1);
  return rest;
}
