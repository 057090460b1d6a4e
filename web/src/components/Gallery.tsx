import type { ChatMessage, Client, Media } from "@rialto-im/client";
import { lazy, Suspense, useState, type KeyboardEvent } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { sourceKey, useDownload, type FileOf } from "../download.js";
import { useText } from "../i18n.js";
import { Dialog } from "../ui/Dialog.js";
import { IconButton } from "../ui/IconButton.js";
import { FileImage } from "./FileImage.js";
import { BackIcon, NextIcon } from "./icons.js";
import "./voice.css";

const Player = lazy(() => import("../player/Player.js"));

/** A picture or a video, and what names it. */
export interface Picture {
  of: FileOf;
  kind: "image" | "video";
  media: Media;
  caption: string;
}

/** The pictures and videos of a message. */
function picturesOf(m: ChatMessage): Picture[] {
  const of = { conversation: m.conversation, seq: m.seq };
  const k = m.content.kind;
  if (k.case === "image" || k.case === "video") return [{ of, kind: k.case, media: k.value, caption: k.value.caption }];
  if (k.case !== "album") return [];
  return k.value.items.flatMap(({ kind }) => (kind.case ? [{ of, kind: kind.case, media: kind.value, caption: k.case === "album" ? k.value.caption : "" }] : []));
}

/** Shows the pictures of a chat, as far as it is loaded, one at a time, from one on. */
export function ChatGallery({ m, upload, play = false, onClose }: { m: ChatMessage; upload: string; play?: boolean; onClose: () => void }) {
  const client = useClient();
  const shown = client.messages(m.conversation);
  const list = (shown.some((s) => s.seq === m.seq) ? shown : [m]).flatMap(picturesOf);
  return <Gallery list={list} first={keyOf({ conversation: m.conversation, seq: m.seq }, upload)} play={play} onClose={onClose} />;
}

/** Tells apart the pictures of a gallery. */
export function keyOf(of: FileOf, upload: string): string {
  return `${sourceKey(of)}/${upload}`;
}

/** Shows pictures, one at a time, from one on. With play, that is a video, which plays at once. */
export function Gallery({ list, first, play = false, onClose }: { list: readonly Picture[]; first: string; play?: boolean; onClose: () => void }) {
  const t = useText();
  const [at, setAt] = useState(first);
  const [moved, setMoved] = useState(false);
  const [zoomed, setZoomed] = useState(false);
  const index = Math.max(0, list.findIndex((p) => keyOf(p.of, p.media.upload) === at));
  const p = list[index];
  const move = (by: number) => {
    const next = list[index + by];
    if (!next) return;
    setZoomed(false);
    setMoved(true);
    setAt(keyOf(next.of, next.media.upload));
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
        <View p={p} play={play && !moved} zoomed={zoomed} onZoom={() => setZoomed(!zoomed)} />
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

function View({ p, play, zoomed, onZoom }: { p: Picture; play: boolean; zoomed: boolean; onZoom: () => void }) {
  const download = useDownload(p.of, p.media.upload);
  const { url, error } = download;
  return (
    <div className={zoomed ? "gallery-view zoomed" : "gallery-view"} tabIndex={0}>
      {error && <p className="error">{error}</p>}
      {url && (p.kind === "video" ? <Suspense><Player key={p.media.upload} source={{ kind: "file", upload: p.media.upload, ...download }} title={p.caption || p.media.name} durationMs={p.media.durationMs} autoPlay={play} /></Suspense> : <FileImage of={download} alt={p.caption || p.media.name} onError={download.renew} onClick={onZoom} data-testid="gallery-image" />)}
    </div>
  );
}

function Save({ p }: { p: Picture }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  return <><button onClick={() => void run(() => save(client, p.of, p.media))}>{t("download")}</button>{error && <p className="error" role="alert">{error}</p>}</>;
}

/** Downloads a file. */
export async function save(client: Client, of: FileOf, media: Media): Promise<void> {
  const a = document.createElement("a");
  const url = await client.download(of, media.upload);
  a.href = (await client.replaceLostUrl(url)) ?? url; // what a link opens goes nowhere else later
  a.download = media.name;
  a.click();
}
