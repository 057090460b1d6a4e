import { Audience } from "@rialto-im/client";
import { useId, useRef, type FormEvent, type KeyboardEvent } from "react";
import { useClient, videoUploads } from "../client.js";
import { unsent, useDownload } from "../download.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { isComplete, mostImages, mostUsers, namesUsers, type PostDraft, type PostImage } from "../postDraft.js";
import { confirm } from "../ui/Confirm.js";
import { Dialog } from "../ui/Dialog.js";
import { IconButton } from "../ui/IconButton.js";
import "./feed.css";
import { FileImage } from "./FileImage.js";
import { CoverField, GoodsFields } from "./GoodsForm.js";
import { CloseIcon, ImageIcon } from "./icons.js";
import { ComposedPreview } from "./LinkPreviewCard.js";
import { MentionList, mentionAria } from "./MentionList.js";
import { PickPeople } from "./PickPeople.js";
import { audienceTexts, Reposted } from "./PostBody.js";
import { useLinkPreview } from "./useLinkPreview.js";
import { usePostMentioning } from "./useMentioning.js";
import { repostOf, slotOf, usePostForm, type Writing } from "./usePostForm.js";
import { useIsUploadingVideo, VideoField } from "./VideoField.js";

const audiences = [Audience.EVERYONE, Audience.FRIENDS, Audience.CHOSEN, Audience.EXCEPT] as const;

/** Writes a post, a repost, or another content of a post of one's own. Closing it keeps the draft of a new post. */
export function PostDialog({ of, onClose }: { of: Writing; onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const { draft, change, discard, addImages, addImage, uploading, isUploading, send, busy, error, setError } = usePostForm(of);
  const slot = slotOf(of);
  const isUploadingVideo = useIsUploadingVideo(slot);
  const link = draft.link.trim();
  const { preview, remove } = useLinkPreview(link);
  const shown = preview?.url === link ? preview : undefined;
  const isReady = isComplete(draft, repostOf(of)) && !isUploading && !isUploadingVideo && !busy;
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (isReady) void send(shown, onClose);
  };
  const key = (e: KeyboardEvent) => {
    if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && !e.nativeEvent.isComposing) submit(e);
  };
  const close = () => {
    if (of.kind !== "new") discard();
    onClose();
  };
  const isEmpty = !draft.title && !draft.text && !draft.link && draft.images.length === 0 && !draft.cover && !draft.video && draft.goods.length === 0;
  const forget = async () => {
    if (!(await confirm({ label: t("discardDraft"), question: t("sureDiscardDraft") }))) return;
    discard();
    videoUploads.discard(slot);
    onClose();
  };
  const title = of.kind === "new" ? t("newPost") : of.kind === "edit" ? t("editPost") : t("repostOf", { who: nameOf(client, of.post.author) });
  const original = of.kind === "repost" ? of.post : of.kind === "edit" && repostOf(of) !== "0" ? of.post.reposted : undefined;
  return (
    <Dialog title={title} onClose={close}>
      <form className="stack post-form" onSubmit={submit} onKeyDown={key} data-testid="post-form">
        <VideoField slot={slot} draft={draft} change={change} onCover={addImage} onError={setError} />
        <CoverField cover={draft.cover} change={change} onAdd={addImage} />
        <label>{t("postTitle")}<input name="title" dir="auto" maxLength={120} value={draft.title} onChange={(e) => change((d) => ({ ...d, title: e.target.value }))} /></label>
        <PostTextField draft={draft} change={change} />
        <Images images={draft.images} uploading={uploading} onAdd={addImages} onRemove={(image) => change((d) => ({ ...d, images: d.images.filter((i) => i.upload !== image.upload) }))} />
        <label>{t("postLink")}<input name="link" type="url" inputMode="url" dir="ltr" maxLength={2000} placeholder="https://" value={draft.link} onChange={(e) => change((d) => ({ ...d, link: e.target.value }))} /></label>
        <ComposedPreview p={shown} onRemove={remove} />
        <GoodsFields goods={draft.goods} change={change} onAdd={addImage} />
        {original && <Reposted post={original} />}
        <label>{t("audience")}
          <select name="audience" value={draft.audience} onChange={(e) => change((d) => ({ ...d, audience: Number(e.target.value) }))}>
            {audiences.map((a) => <option key={a} value={a}>{t(audienceTexts[a])}</option>)}
          </select>
        </label>
        {namesUsers(draft.audience) && <PickPeople everyone picked={[...draft.users]} onChange={(users) => change((d) => ({ ...d, users: users.slice(0, mostUsers) }))} />}
        {error && <p className="error" role="alert">{error}</p>}
        <div className="buttons end">
          {of.kind === "new" && !isEmpty && <button type="button" className="danger" onClick={() => void forget()}>{t("discardDraft")}</button>}
          <button type="button" onClick={close}>{t("cancel")}</button>
          <button className="primary small" disabled={!isReady}>{t(of.kind === "edit" ? "save" : "publish")}</button>
        </div>
      </form>
    </Dialog>
  );
}

/** The text of a post that is being written. Names are completed behind an "@". */
function PostTextField({ draft, change }: { draft: PostDraft; change: (next: (d: PostDraft) => PostDraft) => void }) {
  const t = useText();
  const field = useRef<HTMLTextAreaElement>(null);
  const listId = useId();
  const write = (text: string) => change((d) => ({ ...d, text }));
  const mentioning = usePostMentioning(field, draft.text, write, draft.names ?? [], (names) => change((d) => ({ ...d, names })));
  return (
    <div className="mention-field">
      <label>{t("postText")}<textarea ref={field} name="text" dir="auto" rows={5} maxLength={10_000} data-first value={draft.text} onChange={(e) => { write(e.target.value); mentioning.moved(); }} onSelect={mentioning.moved} onKeyDown={(e) => mentioning.key(e) && e.stopPropagation()} {...mentionAria(listId, mentioning)} /></label>
      <MentionList id={listId} of={mentioning} />
    </div>
  );
}

interface ImagesProps {
  images: readonly PostImage[];
  uploading: readonly string[];
  onAdd: (files: readonly File[]) => void;
  onRemove: (image: PostImage) => void;
}

/** The images of a post that is being written. */
function Images({ images, uploading, onAdd, onRemove }: ImagesProps) {
  const t = useText();
  const n = images.length + uploading.length;
  return (
    <div className="post-form-images" role="group" aria-label={t("postImages")}>
      {images.map((image) => <Thumbnail key={image.upload} image={image} onRemove={() => onRemove(image)} />)}
      {uploading.map((name, i) => <span key={`${name}/${i}`} className="post-image placeholder" role="status" aria-label={t("uploadingImage", { name })}><ImageIcon /></span>)}
      {n < mostImages && (
        <label className="file-button">
          {t("addImages")}
          <input
            type="file"
            multiple
            accept="image/png,image/jpeg,image/gif,image/webp"
            data-testid="post-images-input"
            onChange={(e) => {
              const files = [...(e.target.files ?? [])];
              e.target.value = ""; // the same file can be chosen again
              onAdd(files);
            }}
          />
        </label>
      )}
      {n > 0 && <small>{t("imagesOf", { n, most: mostImages })}</small>}
    </div>
  );
}

function Thumbnail({ image, onRemove }: { image: PostImage; onRemove: () => void }) {
  const t = useText();
  const file = useDownload(unsent, image.upload);
  return (
    <span className="post-image">
      {file.url ? <FileImage of={file} alt={image.name} onError={file.renew} /> : <ImageIcon />}
      <IconButton label={t("removeImage", { name: image.name })} onClick={onRemove}><CloseIcon /></IconButton>
    </span>
  );
}
