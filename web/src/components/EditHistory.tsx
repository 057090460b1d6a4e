import type { ChatMessage } from "@rialto-im/client";
import { useState } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { moment } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { usePages } from "../usePages.js";
import { Dialog } from "../ui/Dialog.js";
import { Tip } from "../ui/Tip.js";
import { Body } from "./Body.js";
import "./editHistory.css";

/** Says that a message was edited, and opens its versions. */
export function EditedMark({ m }: { m: ChatMessage }) {
  const t = useText();
  const [open, setOpen] = useState(false);
  return (
    <>
      <Tip label={t("editHistory")} side="top"><button className="edited-mark" aria-label={`${t("edited")}. ${t("editHistory")}`} onClick={() => setOpen(true)}>{t("edited")}</button></Tip>
      {open && <EditHistory m={m} onClose={() => setOpen(false)} />}
    </>
  );
}

/** All versions of a message, the original first. */
export function EditHistory({ m, onClose }: { m: ChatMessage; onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const { list, more } = usePages<ChatMessage>(run, `${m.conversation}/${m.seq}`, m.editSeq ?? 0, async (page) => {
    const { versions, next } = await client.versions(m.conversation, m.seq, page);
    return { items: versions, next };
  });
  return (
    <Dialog title={t("editHistory")} onClose={onClose}>
      {error && <p className="error" role="alert">{error}</p>}
      {!list && !error && <p role="status">{t("loading")}</p>}
      <ol className="edit-history" data-testid="edit-history">
        {list?.map((v) => (
          <li key={v.editSeq ?? 0}>
            <small>{v.editedMs ? t("editedAt", { when: moment(v.editedMs, getLocale()) }) : t("originalAt", { when: moment(v.timeMs, getLocale()) })}</small>
            <Body m={v} />
          </li>
        ))}
      </ol>
      {more && <button type="button" onClick={more}>{t("showMore")}</button>}
    </Dialog>
  );
}
