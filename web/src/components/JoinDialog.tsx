import type { PreviewJoinLinkResponse } from "@rialto-im/client";
import { useEffect, useState } from "react";
import { useAction } from "../action.js";
import { client, useOnline } from "../client.js";
import { useText } from "../i18n.js";
import type { Invitation } from "../routes.js";
import { Dialog } from "../ui/Dialog.js";
import "./channel.css";

/** Says which group a link leads to, and asks before one joins it: anybody can send a link. */
export function JoinDialog({ to, onJoined, onClose }: { to: Invitation; onJoined: (conversation: string, joined: boolean) => void; onClose: () => void }) {
  const t = useText();
  const online = useOnline();
  const [found, setFound] = useState<PreviewJoinLinkResponse>();
  const { run, busy, error } = useAction();
  useEffect(() => {
    if (!online) return;
    let current = true;
    void run(async () => {
      const r = await client.chat.previewJoinLink(to);
      if (!current) return;
      if (r.member) onJoined(r.conversation, true);
      else setFound(r);
    });
    return () => void (current = false);
  }, [online]);
  const join = async () => {
    const r = await client.chat.join(to);
    onJoined(r.conversation, r.joined);
  };
  return (
    <Dialog title={t(found?.channel ? "joinThisChannel" : "joinGroup")} onClose={onClose}>
      {found && <p data-testid="join-preview"><bdi className="name">{found.title}</bdi> <small>{t(found.channel ? "followers" : "members", { n: found.memberCount })}</small></p>}
      {found?.announcement && <p className="channel-description" dir="auto">{found.announcement}</p>}
      {!found && !error && <p role="status">{t("loading")}</p>}
      {found && !("token" in to) && <p>{t("joinById")}</p>}
      {error && <p className="error" role="alert">{error}</p>}
      <div className="buttons end">
        <button type="button" data-first onClick={onClose}>{t("cancel")}</button>
        {found && <button type="button" className="primary" disabled={busy || !online} onClick={() => void run(join)}>{t("join")}</button>}
      </div>
    </Dialog>
  );
}
