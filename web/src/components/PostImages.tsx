import type { Post } from "@rialto-im/client";
import { useState } from "react";
import { useDownload } from "../download.js";
import { useText } from "../i18n.js";
import { FileImage } from "./FileImage.js";
import { Gallery, keyOf, type Picture } from "./Gallery.js";
import { ImageIcon } from "./icons.js";

/** So many images of a post are shown in a list; the others are behind the last one. */
const mostShown = 9;

/** The images of a post, each of which opens large. */
export function PostImages({ post, all = false }: { post: Post; all?: boolean }) {
  const [large, setLarge] = useState<string>();
  const images = post.content?.images ?? [];
  if (images.length === 0) return null;
  const list: Picture[] = images.map((media) => ({ of: { post: post.id }, kind: "image", media, caption: "" }));
  const shown = all ? list : list.slice(0, mostShown);
  return (
    <div className={shown.length === 1 ? "post-images one" : "post-images"} data-testid="post-images">
      {shown.map((p, i) => <Tile key={p.media.upload} p={p} alone={list.length === 1} more={i === shown.length - 1 ? list.length - shown.length : 0} onOpen={() => setLarge(keyOf(p.of, p.media.upload))} />)}
      {large && <Gallery list={list} first={large} onClose={() => setLarge(undefined)} />}
    </div>
  );
}

function Tile({ p: { of, media }, alone, more, onOpen }: { p: Picture; alone: boolean; more: number; onOpen: () => void }) {
  const t = useText();
  const file = useDownload(of, media.upload);
  const { url, error, renew } = file;
  const shape = alone && media.width && media.height ? { aspectRatio: `${media.width} / ${media.height}` } : {};
  if (!url) return <span className="post-image placeholder" style={shape} role="img" aria-label={error || t("photo")} title={error}><ImageIcon /></span>;
  return (
    <button type="button" className="post-image" style={shape} aria-label={more > 0 ? t("moreImages", { n: more }) : t("openPicture", { name: media.name })} onClick={onOpen}>
      <FileImage of={file} alt="" loading="lazy" onError={renew} />
      {more > 0 && <span aria-hidden="true">+{more}</span>}
    </button>
  );
}
