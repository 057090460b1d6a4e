import type { Card, ChatMessage } from "@rialto-im/client";
import { Link } from "wouter";
import { useDownload } from "../download.js";
import { useText } from "../i18n.js";
import { inside, path, placeOf } from "../routes.js";
import { FileImage } from "./FileImage.js";
import "./voice.css";

const opens = /^(https?:\/\/|mailto:)/i;

/** A card: what it refers to is opened by its title, in place where it is within the app. */
export function CardTile({ m, card }: { m: ChatMessage; card: Card }) {
  const t = useText();
  const file = useDownload(m, card.picture);
  const within = card.user !== "0" ? path.user(card.user) : card.group !== "0" ? path.group(card.group) : inside(card.url);
  const place = within === undefined ? undefined : placeOf(within);
  const isPost = place?.area === "feed" && place.post !== undefined;
  const title = <b dir="auto">{card.title}</b>;
  return (
    <div className="card-tile" data-testid="card">
      {file.url && <FileImage of={file} alt="" onError={file.renew} />}
      {within ? <Link href={within}>{title}</Link> : opens.test(card.url) ? <a href={card.url} target="_blank" rel="noopener noreferrer nofollow">{title}</a> : title}
      {card.text && <span dir="auto">{card.text}</span>}
      <small>{card.user !== "0" ? t("contactCard") : card.group !== "0" ? t("groupCard") : isPost ? t("post") : <bdi>{card.url}</bdi>}</small>
    </div>
  );
}
