import { useEffect, useId, useRef, useState, type FormEvent, type KeyboardEvent } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { commentOf, isWritten, mostCommentText, type CommentDraft } from "../commentDraft.js";
import { unsent, useDownload } from "../download.js";
import { useText } from "../i18n.js";
import { namesIn } from "../mentions.js";
import { nameOf } from "../names.js";
import type { PostImage } from "../postDraft.js";
import { IconButton } from "../ui/IconButton.js";
import "./chat.css";
import "./quote.css";
import { FileImage } from "./FileImage.js";
import { CheckIcon, CloseIcon, ImageIcon, SendIcon } from "./icons.js";
import type { Comment } from "@rialto-im/client";
import { MentionList, mentionAria } from "./MentionList.js";
import type { Commenting } from "./useCommenting.js";
import { usePostMentioning } from "./useMentioning.js";

/** A touch screen's keyboard has Enter for new lines. */
const touch = matchMedia("(pointer: coarse)").matches;

/** Writes a comment, or a reply. What is written stays until it is sent. */
export function CommentForm({ of: c }: { of: Commenting }) {
  const client = useClient();
  const t = useText();
  const field = useRef<HTMLTextAreaElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const { draft, answered } = c;
  const listId = useId();
  const mentioning = usePostMentioning(field, draft.text, (text) => c.change((d) => ({ ...d, text })), draft.names ?? [], (names) => c.change((d) => ({ ...d, names })));
  useEffect(() => {
    if (answered) field.current?.focus();
  }, [answered]);
  const key = (e: KeyboardEvent) => {
    if (mentioning.key(e)) return;
    if (e.key === "Enter" && !touch && !e.shiftKey && !e.nativeEvent.isComposing) {
      e.preventDefault();
      c.submit();
    }
    if (e.key === "Escape" && answered) {
      e.preventDefault();
      c.answer(undefined);
    }
  };
  const submit = (e: FormEvent) => {
    e.preventDefault();
    c.submit();
    field.current?.focus();
  };
  const label = answered ? t("replyToWho", { who: nameOf(client, answered.author) }) : t("writeComment");
  return (
    <form className="composer comment-form" onSubmit={submit} data-testid="comment-form">
      {c.error && <p className="error" role="alert">{c.error}</p>}
      {answered && (
        <div className="replying" role="group" aria-label={label}>
          <span className="comment-answered"><b>{label}</b><span dir="auto">{answered.content?.text}</span></span>
          <IconButton label={t("cancelReply")} side="top" onClick={() => { c.answer(undefined); field.current?.focus(); }}><CloseIcon /></IconButton>
        </div>
      )}
      {c.uploading && <small role="status">{t("uploadingImage", { name: c.uploading })}</small>}
      {draft.image && <FormImage image={draft.image} onRemove={() => c.change(({ image: _, ...d }) => d)} />}
      <MentionList id={listId} of={mentioning} />
      <div className="composer-row">
        <input ref={files} type="file" hidden accept="image/png,image/jpeg,image/gif,image/webp" data-testid="comment-image" onChange={(e) => {
          const file = e.target.files?.[0];
          if (file) void c.addImage(file);
          e.target.value = ""; // the same file can be chosen again
        }} />
        <IconButton label={t("addImage")} side="top" disabled={c.uploading !== ""} onClick={() => files.current?.click()}><ImageIcon /></IconButton>
        <textarea ref={field} rows={1} dir="auto" maxLength={mostCommentText} placeholder={label} aria-label={label} value={draft.text} onChange={(e) => { c.change((d) => ({ ...d, text: e.target.value })); mentioning.moved(); }} onSelect={mentioning.moved} onKeyDown={key} {...mentionAria(listId, mentioning)} />
        <IconButton label={t("send")} side="top" type="submit" className="send" disabled={!isWritten(draft) || c.uploading !== ""}><SendIcon /></IconButton>
      </div>
    </form>
  );
}

function FormImage({ image, onRemove }: { image: PostImage; onRemove: () => void }) {
  const t = useText();
  const file = useDownload(unsent, image.upload);
  return (
    <span className="post-image comment-form-image">
      {file.url ? <FileImage of={file} alt={image.name} onError={file.renew} /> : <ImageIcon />}
      <IconButton label={t("removeImage", { name: image.name })} side="top" onClick={onRemove}><CloseIcon /></IconButton>
    </span>
  );
}

/** Edits the text of a comment of one's own, in its place. Its image stays. */
export function EditComment({ comment, onDone }: { comment: Comment; onDone: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, busy, error } = useAction();
  const before = comment.content?.text ?? "";
  const [text, setText] = useState(before);
  const [names, setNames] = useState(() => (comment.content ? namesIn(before, comment.content) : []));
  const field = useRef<HTMLTextAreaElement>(null);
  const listId = useId();
  const mentioning = usePostMentioning(field, text, setText, names, setNames);
  const { name = "", mimeType = "", upload = "0", size = 0n, width = 0, height = 0 } = comment.content?.image ?? {};
  const draft: CommentDraft = upload === "0" ? { text, names } : { text, names, image: { upload, name, mimeType, size: Number(size), width, height } };
  const save = (e: FormEvent | KeyboardEvent) => {
    e.preventDefault();
    if (!isWritten(draft) || busy) return;
    if (text.trim() === before) return onDone();
    void run(() => client.editComment(comment.id, commentOf(draft)).then(onDone));
  };
  const key = (e: KeyboardEvent) => {
    e.stopPropagation(); // the arrow keys move within the text
    if (mentioning.key(e)) return;
    if (e.key === "Escape") {
      e.preventDefault();
      onDone();
    }
    if (e.key === "Enter" && !e.shiftKey && !touch && !e.nativeEvent.isComposing) save(e);
  };
  return (
    <form className="comment-edit" onSubmit={save} data-testid="edit-comment">
      <textarea ref={field} rows={2} dir="auto" maxLength={mostCommentText} aria-label={t("editComment")} autoFocus value={text} onChange={(e) => { setText(e.target.value); mentioning.moved(); }} onSelect={mentioning.moved} onKeyDown={key} {...mentionAria(listId, mentioning)} />
      <MentionList id={listId} of={mentioning} />
      {error && <p className="error" role="alert">{error}</p>}
      <div className="buttons end">
        <IconButton label={t("cancel")} side="top" onClick={onDone}><CloseIcon /></IconButton>
        <IconButton label={t("save")} side="top" type="submit" disabled={!isWritten(draft) || busy}><CheckIcon /></IconButton>
      </div>
    </form>
  );
}
