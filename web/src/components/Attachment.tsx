import type { Album, ChatMessage, Media } from "@rialto-im/client";
import { lazy, Suspense, useState } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useDownload } from "../download.js";
import { bytes } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { positions } from "../player/positions.js";
import { Tip } from "../ui/Tip.js";
import { FileImage } from "./FileImage.js";
import { ChatGallery, save } from "./Gallery.js";
import { FileIcon, ImageIcon } from "./icons.js";
import { MentionText } from "./MentionText.js";
import { shapeOf, VideoPoster } from "./VideoPoster.js";
import "./voice.css";

const Player = lazy(() => import("../player/Player.js"));

/** A file in a message. Pictures and videos show themselves; everything else is there to be downloaded. */
export function Attachment({ m, kind, media }: { m: ChatMessage; kind: "image" | "file" | "video"; media: Media }) {
  return (
    <figure className="attachment">
      {kind === "image" ? <Image m={m} media={media} caption={media.caption} /> : kind === "video" ? <Video m={m} media={media} /> : <File m={m} media={media} />}
      {media.caption && <figcaption dir="auto"><MentionText text={media.caption} content={m.content} /></figcaption>}
    </figure>
  );
}

/** Several pictures and videos with one caption. */
export function AlbumTiles({ m, album }: { m: ChatMessage; album: Album }) {
  return (
    <figure className="attachment" data-testid="album">
      <div className="album">
        {album.items.map(({ kind }, i) => (kind.case === "image" ? <Image key={i} m={m} media={kind.value} caption={album.caption} tile /> : kind.case === "video" ? <Video key={i} m={m} media={kind.value} tile /> : null))}
      </div>
      {album.caption && <figcaption dir="auto"><MentionText text={album.caption} content={m.content} /></figcaption>}
    </figure>
  );
}

/** Of a picture alone, the space that it will take. */
function spaceOf({ width, height }: Media, tile: boolean) {
  return width && height && !tile ? { aspectRatio: `${width} / ${height}`, width: Math.min(320, width) } : {};
}

function Image({ m, media, caption, tile = false }: { m: ChatMessage; media: Media; caption: string; tile?: boolean }) {
  const t = useText();
  const file = useDownload(m, media.upload);
  const { url, error } = file;
  const [large, setLarge] = useState(false);
  const style = spaceOf(media, tile);
  return (
    <>
      {url ? <button className="picture" aria-label={t("openPicture", { name: caption || media.name })} onClick={() => setLarge(true)}><FileImage of={file} alt="" style={style} onError={file.renew} data-testid="image" /></button> : <span className="placeholder" style={style} role="img" aria-label={t("photo")}><ImageIcon /></span>}
      {large && <ChatGallery m={m} upload={media.upload} onClose={() => setLarge(false)} />}
      {error && <p className="error">{error}</p>}
    </>
  );
}

/** A video: where it alone is the message, it plays in its place; of an album, it opens as the pictures do. */
function Video({ m, media, tile = false }: { m: ChatMessage; media: Media; tile?: boolean }) {
  const download = useDownload(m, media.upload);
  const { url, error } = download;
  const cover = useDownload(m, media.poster);
  const [playing, setPlaying] = useState(false);
  const style = tile ? {} : { ...shapeOf(media.width, media.height), width: 320, maxHeight: 360 };
  const picture = <VideoPoster of={cover} first={media.poster === "0" ? download : undefined} onError={cover.renew} durationMs={media.durationMs} positionMs={1_000 * positions.of(media.upload)} style={style} onPlay={url && (tile || !playing) ? () => setPlaying(true) : undefined} />;
  const player = <Suspense fallback={picture}><Player source={{ kind: "file", upload: media.upload, ...download }} title={media.caption || media.name} poster={cover.url || undefined} durationMs={media.durationMs} style={style} autoPlay /></Suspense>;
  return (
    <>
      {playing && !tile ? player : picture}
      {playing && tile && <ChatGallery m={m} upload={media.upload} play onClose={() => setPlaying(false)} />}
      {error && <p className="error">{error}</p>}
    </>
  );
}

function File({ m, media }: { m: ChatMessage; media: Media }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  return (
    <>
      <Tip label={t("download")}><button className="file" onClick={() => void run(() => save(client, m, media))}>
        <i className="sr-only">{t("download")} </i>
        <FileIcon />
        <span><b><bdi>{media.name}</bdi></b><small>{bytes(Number(media.size), getLocale())}</small></span>
      </button></Tip>
      {error && <p className="error">{error}</p>}
    </>
  );
}
