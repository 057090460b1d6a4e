import type { ChannelAddress } from "@rialto-im/client";
import { useChannelPreview } from "@rialto-im/client/react";
import { useEffect } from "react";
import { Link } from "wouter";
import { useAction } from "../action.js";
import { useClient, useOnline } from "../client.js";
import { errorText } from "../errors.js";
import { useText } from "../i18n.js";
import { go, path } from "../routes.js";
import { IconButton } from "../ui/IconButton.js";
import { Avatar } from "./Avatar.js";
import "./channel.css";
import { BackIcon } from "./icons.js";

/** What the address of a channel leads to, for somebody who does not follow it. */
export function ChannelPage({ at, onBack }: { at: ChannelAddress; onBack: () => void }) {
  const client = useClient();
  const t = useText();
  const online = useOnline();
  const { preview, error, join } = useChannelPreview(at);
  const { run, busy, error: refused } = useAction();
  const known = "handle" in at ? client.conversations().find((c) => c.handle === at.handle.toLowerCase() && c.leaveSeq === 0)?.id : undefined;
  const group = preview && !preview.channel ? preview.conversation : undefined;
  const follows = preview?.following && preview.channel;
  const follow = async () => go(path.chat((await join()).id), { replace: true });
  useEffect(() => {
    if (known) go(path.chat(known), { replace: true });
    else if (group) go(path.group(group), { replace: true });
    else if (follows) void run(follow); // on another device: this one has not heard of it yet
  }, [known, group, follows]);
  const size = preview && t("followers", { n: preview.followers });
  return (
    <main className="chat" aria-label={preview?.title}>
      <header className="chat-head">
        <IconButton label={t("back")} className="back" onClick={onBack}><BackIcon /></IconButton>
        {preview?.channel && <div className="chat-title"><h2><bdi>{preview.title}</bdi></h2><p>{size}</p></div>}
        {!preview && !error && <p className="muted" role="status">{t("loading")}</p>}
      </header>
      {!preview && Boolean(error) && (
        <div className="empty" role="status">
          <p>{!("handle" in at) ? t("errGone") : (error as { reason?: string }).reason === "bad_link" ? t("noChannel", { handle: at.handle }) : errorText(error)}</p>
          <Link href={path.chats} className="button primary">{t("toChats")}</Link>
        </div>
      )}
      {preview?.channel && !preview.following && (
        <>
          <div className="channel-about" data-testid="channel-preview">
            <Avatar id={preview.conversation} name={preview.title} size={88} />
            <h3><bdi>{preview.title}</bdi></h3>
            {preview.handle && <p className="muted">@{preview.handle}</p>}
            {preview.description && <p className="channel-description" dir="auto">{preview.description}</p>}
            <p className="muted">{size}</p>
          </div>
          <div className="channel-foot">
            {refused && <p className="error" role="alert">{refused}</p>}
            <button className="primary" disabled={busy || !online} onClick={() => void run(follow)}>{t("joinChannel")}</button>
          </div>
        </>
      )}
    </main>
  );
}
