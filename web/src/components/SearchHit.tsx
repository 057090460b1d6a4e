import { ConversationKind, FileType, type FoundFile, type Hit } from "@rialto-im/client";
import type { ReactNode } from "react";
import { useClient } from "../client.js";
import { useDownload } from "../download.js";
import { bytes, length, when } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { nameOf, titleOf } from "../names.js";
import { useNow } from "../now.js";
import { markedParts } from "../search/highlight.js";
import { FileImage } from "./FileImage.js";
import { GroupAvatar, UserAvatar } from "./Avatar.js";
import { ArchiveIcon, FileIcon, ImageIcon, SoundIcon, VideoIcon } from "./icons.js";
import { directWith } from "../search/options.js";
import { VerifiedMark } from "./VerifiedMark.js";

/** The text of a hit with what the query matches. */
export function Marked({ hit }: { hit: Hit }): ReactNode {
  return <bdi>{markedParts(hit.text, hit.highlights).map((p, i) => (p.marked ? <mark key={i}>{p.text}</mark> : p.text))}</bdi>;
}

/** What was found, as one line or two. */
export function SearchHit({ hit }: { hit: Hit }): ReactNode {
  if (hit.user) return <UserHit hit={hit} user={hit.user} />;
  if (hit.conversation) return <ConversationHit hit={hit} conversation={hit.conversation} />;
  if (hit.message && hit.file) return <FileHit hit={hit} message={hit.message} file={hit.file} />;
  if (hit.post && hit.video) return <VideoHit hit={hit} post={hit.post} video={hit.video} />;
  if (hit.message) return <MessageHit hit={hit} message={hit.message} />;
  return hit.post ? <PostHit hit={hit} post={hit.post} /> : null;
}

function UserHit({ hit, user }: { hit: Hit; user: NonNullable<Hit["user"]> }) {
  const client = useClient();
  const t = useText();
  const remark = client.nameOf(user.id);
  return (
    <>
      <UserAvatar user={user.id} size={36} presence />
      <span className="search-text">
        <span className="search-line"><Marked hit={hit} /><VerifiedMark user={user.id} /></span>
        {remark !== "" && remark !== user.displayName && <small><bdi>{remark}</bdi></small>}
      </span>
      <small>{t(directWith(user.id, client) === undefined ? "openProfileOf" : "openChatOf")}</small>
    </>
  );
}

function ConversationHit({ hit, conversation: c }: { hit: Hit; conversation: NonNullable<Hit["conversation"]> }) {
  const t = useText();
  return (
    <>
      <GroupAvatar c={c} size={36} />
      <span className="search-text">
        <span className="search-line"><Marked hit={hit} /></span>
        {c.kind === ConversationKind.GROUP && <small>{t(c.channel ? "followers" : "members", { n: c.memberCount })}</small>}
      </span>
    </>
  );
}

function MessageHit({ hit, message: m }: { hit: Hit; message: NonNullable<Hit["message"]> }) {
  const client = useClient();
  const t = useText();
  const c = client.conversation(m.conversation);
  const sender = nameOf(client, m.sender, t);
  const title = c ? titleOf(c) : "";
  const isTold = title === "" || (c?.peer === m.sender && client.nameOf(m.sender) === title);
  return (
    <>
      <UserAvatar user={m.sender} size={36} />
      <span className="search-text">
        <small className="search-where"><bdi>{isTold ? sender : t("foundIn", { who: sender, where: title })}</bdi><Time ms={Number(m.timeMs)} /></small>
        <span className="search-excerpt"><Marked hit={hit} /></span>
      </span>
    </>
  );
}

const fileIcons: Record<FileType, typeof FileIcon> = { [FileType.UNSPECIFIED]: FileIcon, [FileType.IMAGE]: ImageIcon, [FileType.VIDEO]: VideoIcon, [FileType.AUDIO]: SoundIcon, [FileType.DOCUMENT]: FileIcon, [FileType.ARCHIVE]: ArchiveIcon, [FileType.OTHER]: FileIcon };

function FileHit({ hit, message: m, file }: { hit: Hit; message: NonNullable<Hit["message"]>; file: FoundFile }) {
  const client = useClient();
  const t = useText();
  const c = client.conversation(m.conversation);
  const sender = nameOf(client, m.sender, t);
  const where = c && c.peer !== m.sender ? titleOf(c) : "";
  const size = Number(file.media?.size ?? 0);
  return (
    <>
      <FilePicture message={m} file={file} />
      <span className="search-text" data-testid="search-file">
        <span className="search-excerpt search-lines">{hit.text === "" ? t(file.type === FileType.AUDIO ? "voice" : file.type === FileType.VIDEO ? "typeVideo" : file.type === FileType.IMAGE ? "photo" : "typeOther") : <Marked hit={hit} />}</span>
        <small className="search-where">
          <bdi>{[size > 0 && bytes(size, getLocale()), file.others > 0 && t("otherFiles", { n: file.others }), where === "" ? sender : t("foundIn", { who: sender, where })].filter(Boolean).join(" · ")}</bdi>
          <Time ms={Number(m.timeMs)} />
        </small>
      </span>
    </>
  );
}

/** Larger pictures are not loaded for a list. */
const mostPicture = 2_000_000;

/** A small picture of an image or a video, or an icon for the type. */
function FilePicture({ message, file: { media, type } }: { message: NonNullable<Hit["message"]>; file: FoundFile }) {
  const picture = type === FileType.VIDEO ? media?.poster : type === FileType.IMAGE && Number(media?.size) <= mostPicture ? media?.upload : undefined;
  const upload = picture === "0" ? undefined : picture;
  const file = useDownload({ conversation: message.conversation, seq: Number(message.seq) }, upload ?? "0", upload !== undefined);
  const Icon = fileIcons[type] ?? FileIcon;
  return <span className="search-picture" aria-hidden="true">{file.url ? <FileImage of={file} alt="" onError={file.renew} /> : <Icon />}</span>;
}

function VideoHit({ hit, post, video }: { hit: Hit; post: NonNullable<Hit["post"]>; video: NonNullable<Hit["video"]> }) {
  const client = useClient();
  const t = useText();
  const poster = video.posters[0]?.url;
  const title = post.content?.title ?? "";
  return (
    <>
      <span className="search-picture search-poster" aria-hidden="true">{poster ? <img src={poster} alt="" /> : <VideoIcon />}{video.durationMs > 0 && <time>{length(video.durationMs)}</time>}</span>
      <span className="search-text" data-testid="search-video">
        {title !== "" && !hit.text.startsWith(title) && <span className="search-line"><bdi>{title}</bdi></span>}
        <span className="search-excerpt">{hit.text === "" ? t("videoWithoutName") : <Marked hit={hit} />}</span>
        <small className="search-where"><bdi>{nameOf(client, post.author, t)}</bdi><Time ms={Number(post.createdMs)} /></small>
      </span>
    </>
  );
}

function PostHit({ hit, post }: { hit: Hit; post: NonNullable<Hit["post"]> }) {
  const client = useClient();
  const t = useText();
  return (
    <>
      <UserAvatar user={post.author} size={36} />
      <span className="search-text">
        <small className="search-where"><bdi>{nameOf(client, post.author, t)}</bdi><Time ms={Number(post.createdMs)} /></small>
        <span className="search-excerpt"><Marked hit={hit} /></span>
      </span>
    </>
  );
}

function Time({ ms }: { ms: number }) {
  const now = useNow();
  return <time dateTime={new Date(ms).toISOString()}>{when(ms, getLocale(), now)}</time>;
}
