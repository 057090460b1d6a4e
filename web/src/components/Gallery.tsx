import type { ChatMessage, Client, Media } from "@rialto-im/client";
import { useState, type KeyboardEvent } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useDownload } from "../download.js";
import { useText } from "../i18n.js";
import { Dialog } from "../ui/Dialog.js";
import { IconButton } from "../ui/IconButton.js";
import { BackIcon, NextIcon } from "./icons.js";
import { VideoPlayer } from "./VideoPlayer.js";
import "./voice.css";

/** A picture or a video of a chat. */
interface Picture {
  m: ChatMessage;
  kind: "image" | "video";
  media: Media;
  caption: string;
}

/** The pictures and videos of a message. */
function picturesOf(m: ChatMessage): Picture[] {
  const k = m.content.kind;
  if (k.case === "image" || k.case === "video") return [{ m, kind: k.case, media: k.value, caption: k.value.caption }];
  if (k.case !== "album") return [];
  return k.value.items.flatMap(({ kind }) => (kind.case ? [{ m, kind: kind.case, media: kind.value, caption: k.case === "album" ? k.value.caption : "" }] : []));
}

/** Shows the pictures of a chat, as far as it is loaded, one at a time, from one on. */
export function Gallery({ m, upload, onClose }: { m: ChatMessage; upload: string; onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const [at, setAt] = useState({ seq: m.seq, upload });
  const [zoomed, setZoomed] = useState(false);
  const list = listOf(client, m);
  const index = Math.max(0, list.findIndex((p) => p.m.seq === at.seq && p.media.upload === at.upload));
  const p = list[index];
  const move = (by: number) => {
    const next = list[index + by];
    if (!next) return;
    setZoomed(false);
    setAt({ seq: next.m.seq, upload: next.media.upload });
  };
  const key = (e: KeyboardEvent) => {
    if (e.key === "ArrowLeft" || e.key === "ArrowRight") {
      e.preventDefault();
      move(e.key === "ArrowLeft" ? -1 : 1);
    } else if (e.key === "+" || e.key === "-") setZoomed(e.key === "+");
  };
  if (!p) return null;
  return (
    <Dialog title={p.caption || p.media.name || t("photo")} wide onClose={onClose}>
      <div className="gallery" onKeyDown={key} data-testid="gallery">
        <View p={p} zoomed={zoomed} onZoom={() => setZoomed(!zoomed)} />
        <div className="buttons end">
          <IconButton label={t("previous")} side="top" disabled={index === 0} onClick={() => move(-1)}><BackIcon /></IconButton>
          <span aria-live="polite">{t("pictureAt", { n: index + 1, many: list.length })}</span>
          <IconButton label={t("next")} side="top" data-first disabled={index === list.length - 1} onClick={() => move(1)}><NextIcon /></IconButton>
          {p.kind === "image" && <button onClick={() => setZoomed(!zoomed)}>{t(zoomed ? "zoomOut" : "zoomIn")}</button>}
          <Save p={p} />
        </div>
      </div>
    </Dialog>
  );
}

function listOf(client: Client, m: ChatMessage): Picture[] {
  const list = client.messages(m.conversation).flatMap(picturesOf);
  return list.some((p) => p.m.seq === m.seq) ? list : picturesOf(m);
}

function View({ p, zoomed, onZoom }: { p: Picture; zoomed: boolean; onZoom: () => void }) {
  const download = useDownload(p.m, p.media.upload);
  const { url, error } = download;
  return (
    <div className={zoomed ? "gallery-view zoomed" : "gallery-view"} tabIndex={0}>
      {error && <p className="error">{error}</p>}
      {url && (p.kind === "video" ? <VideoPlayer of={download} /> : <img src={url} alt={p.caption || p.media.name} onClick={onZoom} data-testid="gallery-image" />)}
    </div>
  );
}

function Save({ p }: { p: Picture }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  return <><button onClick={() => void run(() => save(client, p.m, p.media))}>{t("download")}</button>{error && <p className="error" role="alert">{error}</p>}</>;
}

/** Downloads a file of a message. */
export async function save(client: Client, m: ChatMessage, media: Media): Promise<void> {
  const a = document.createElement("a");
  a.href = await client.download(m, media.upload);
  a.download = media.name;
  a.click();
}
