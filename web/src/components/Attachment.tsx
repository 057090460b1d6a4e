import { isOffline, type ChatMessage, type Media } from "@rialto-im/client";
import { useEffect, useState } from "react";
import { useClient, useOnline } from "../client.js";
import { errorText } from "../errors.js";
import { bytes } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { Dialog } from "./Dialog.js";
import { FileIcon, ImageIcon } from "./icons.js";

/** A file in a message. Pictures show themselves; everything else is there to be downloaded. */
export function Attachment({ m, kind, media }: { m: ChatMessage; kind: "image" | "file" | "voice" | "video"; media: Media }) {
  const client = useClient();
  const t = useText();
  const online = useOnline();
  const [url, setUrl] = useState("");
  const [error, setError] = useState("");
  const [large, setLarge] = useState(false);
  const shown = kind !== "file";
  const { conversation, seq } = m;
  const { upload } = media;
  useEffect(() => {
    if (!shown || url) return;
    setError("");
    let stale = false;
    client.download({ conversation, seq }, upload).then(
      (u) => !stale && setUrl(u),
      (err: unknown) => !stale && !isOffline(err) && setError(errorText(err)), // without a network it waits for it
    );
    return () => {
      stale = true;
    };
  }, [client, shown, url, conversation, seq, upload, online]);

  const save = async () => {
    try {
      const a = document.createElement("a");
      a.href = await client.download(m, media.upload);
      a.download = media.name;
      a.click();
    } catch (err) {
      setError(errorText(err));
    }
  };

  const ratio = media.width && media.height ? { aspectRatio: `${media.width} / ${media.height}`, width: Math.min(320, media.width) } : {};
  return (
    <figure className="attachment">
      {kind === "image" && (url ? <button className="picture" aria-label={t("openPicture", { name: media.caption || media.name })} onClick={() => setLarge(true)}><img src={url} alt="" style={ratio} data-testid="image" /></button> : <span className="placeholder" style={ratio} role="img" aria-label={t("photo")}><ImageIcon /></span>)}
      {kind === "video" && url && <video src={url} controls preload="metadata" />}
      {kind === "voice" && url && <audio src={url} controls preload="metadata" />}
      {kind === "file" && (
        <button className="file" onClick={() => void save()} title={t("download")}>
          <i className="sr-only">{t("download")} </i>
          <FileIcon />
          <span><b><bdi>{media.name}</bdi></b><small>{bytes(Number(media.size), getLocale())}</small></span>
        </button>
      )}
      {media.caption && <figcaption dir="auto">{media.caption}</figcaption>}
      {large && (
        <Dialog title={media.name} wide onClose={() => setLarge(false)}>
          <img src={url} alt={media.caption || media.name} />
          <div className="buttons end"><button onClick={() => void save()}>{t("download")}</button></div>
        </Dialog>
      )}
      {error && <p className="error">{error}</p>}
    </figure>
  );
}
