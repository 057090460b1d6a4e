import type { ChatMessage, Media } from "@rialto-im/client";
import { useClient } from "../client.js";
import { useDownload } from "../download.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { AudioPlayer } from "../player/AudioPlayer.js";
import "./voice.css";

/** A voice message. */
export function Voice({ m, media }: { m: ChatMessage; media: Media }) {
  const t = useText();
  const client = useClient();
  const { error, ...download } = useDownload(m, media.upload);
  return (
    <figure className="attachment voice" data-testid="voice">
      <AudioPlayer source={{ kind: "file", upload: media.upload, ...download }} title={nameOf(client, m.sender, t)} durationMs={media.durationMs} waveform={media.waveform} />
      {error && <p className="error">{error}</p>}
    </figure>
  );
}
