import type { LinkPreview } from "@rialto-im/client";
import { unsent, useDownload, type FileOf } from "../download.js";
import { useText } from "../i18n.js";
import { isAddress } from "../links.js";
import { IconButton } from "../ui/IconButton.js";
import { FileImage } from "./FileImage.js";
import { CloseIcon } from "./icons.js";
import "./linkPreview.css";

/** Shows what a link leads to. The page chose the words, so the link's own host stands beside them. */
export function LinkPreviewCard({ p, at = unsent }: { p: LinkPreview; at?: FileOf }) {
  const file = useDownload(at, p.picture);
  if (!/^https?:/i.test(p.url) || !isAddress(p.url)) return null;
  const host = new URL(p.url).host;
  return (
    <a className="link-preview" href={p.url} target="_blank" rel="noopener noreferrer nofollow" data-testid="link-preview">
      <small><bdi>{host}</bdi>{p.siteName && p.siteName !== host && <> · <bdi>{p.siteName}</bdi></>}</small>
      <b dir="auto">{p.title}</b>
      {p.description && <span dir="auto">{p.description}</span>}
      {p.picture !== "0" && <span className="link-picture" style={{ aspectRatio: `${p.width} / ${p.height}`, maxWidth: p.width }}>{file.url && <FileImage of={file} alt="" onError={file.renew} />}</span>}
    </a>
  );
}

/** The preview of what is being typed, which can be removed. */
export function ComposedPreview({ p, onRemove }: { p: LinkPreview | undefined; onRemove: () => void }) {
  const t = useText();
  if (!p) return null;
  return (
    <div className="composed-preview" role="group" aria-label={t("linkPreview")} data-testid="composed-preview">
      <LinkPreviewCard p={p} />
      <IconButton label={t("removePreview")} side="top" onClick={onRemove}><CloseIcon /></IconButton>
    </div>
  );
}
