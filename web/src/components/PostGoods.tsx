import type { Goods, Media, Post } from "@rialto-im/client";
import { useState } from "react";
import { useDownload, type FileOf } from "../download.js";
import { getLocale, useText } from "../i18n.js";
import { isAddress } from "../links.js";
import { money } from "../money.js";
import { FileImage } from "./FileImage.js";
import { Gallery, keyOf } from "./Gallery.js";
import { ImageIcon } from "./icons.js";

/** The image that a post shows before all else. */
export function PostCover({ of, media }: { of: FileOf; media: Media }) {
  const t = useText();
  const [large, setLarge] = useState(false);
  const file = useDownload(of, media.upload);
  const { url, error, renew } = file;
  if (!url) return <span className="post-image post-cover" role="img" aria-label={error || t("photo")} title={error}><ImageIcon /></span>;
  return (
    <>
      <button type="button" className="post-image post-cover" aria-label={t("openCover")} onClick={() => setLarge(true)}><FileImage of={file} alt="" loading="lazy" onError={renew} /></button>
      {large && <Gallery list={[{ of, kind: "image", media, caption: "" }]} first={keyOf(of, media.upload)} onClose={() => setLarge(false)} />}
    </>
  );
}

/** The goods of a post. The author chose the words, so the link's own host stands beside them. */
export function PostGoods({ post }: { post: Post }) {
  const t = useText();
  const goods = post.content?.goods ?? [];
  if (goods.length === 0) return null;
  return <ul className="post-goods" aria-label={t("goods")}>{goods.map((g, i) => <li key={`${i}/${g.link}`}><Tile of={{ post: post.id }} g={g} /></li>)}</ul>;
}

function Tile({ of, g }: { of: FileOf; g: Goods }) {
  const picture = g.picture?.upload ?? "0";
  const file = useDownload(of, picture);
  if (!/^https:/i.test(g.link) || !isAddress(g.link)) return null;
  return (
    <a className="goods" href={g.link} target="_blank" rel="noopener noreferrer nofollow" data-testid="goods">
      {picture !== "0" && <span className="goods-picture">{file.url ? <FileImage of={file} alt="" loading="lazy" onError={file.renew} /> : <ImageIcon />}</span>}
      <span className="goods-text">
        <b dir="auto">{g.name}</b>
        <span>{money(g.priceMinor, g.currency, getLocale())}</span>
        <small><bdi>{new URL(g.link).host}</bdi></small>
      </span>
    </a>
  );
}
