import type { ConversationView } from "@rialto-im/client";
import { useState, type FormEvent } from "react";
import type { RunAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";

/** The handle by which a channel is found, for its owner. */
export function ChannelHandle({ c, run }: { c: ConversationView; run: RunAction }) {
  const client = useClient();
  const t = useText();
  const [handle, setHandle] = useState<string>();
  if (handle === c.handle) setHandle(undefined);
  const save = (e: FormEvent) => {
    e.preventDefault();
    void run(async () => {
      await client.channels.setHandle(c.id, handle ?? "");
      setHandle(undefined);
    });
  };
  return (
    <form className="stack" onSubmit={save}>
      <label>
        {t("channelHandle")}
        <input value={handle ?? c.handle} maxLength={33} autoCapitalize="none" spellCheck={false} onChange={(e) => setHandle(e.target.value.trim().toLowerCase())} />
        <small>{t("channelHandleHint")}</small>
      </label>
      <button disabled={handle === undefined}>{t("save")}</button>
    </form>
  );
}
