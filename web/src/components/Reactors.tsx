import type { ChatMessage } from "@rialto-im/client";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { getLocale, useText } from "../i18n.js";
import { numbers } from "../intl.js";
import { usePages } from "../usePages.js";
import { Dialog } from "../ui/Dialog.js";
import { Tabs } from "../ui/Tabs.js";
import { UserLinks } from "./UserLinks.js";

/** Who reacted to a message: a list for each emoji. */
export function Reactors({ m, onClose }: { m: ChatMessage; onClose: () => void }) {
  const t = useText();
  const counts = m.reactions?.counts ?? [];
  return (
    <Dialog title={t("whoReacted")} onClose={onClose}>
      {counts.length === 0 && <p className="empty">{t("nobodyYet")}</p>}
      {counts.length > 0 && <Tabs label={t("whoReacted")} tabs={counts.map(({ emoji, count }) => ({ id: emoji, label: `${emoji} ${numbers(getLocale(), "plain").format(count)}`, fresh: true, content: <OfEmoji m={m} emoji={emoji} /> }))} />}
    </Dialog>
  );
}

function OfEmoji({ m, emoji }: { m: ChatMessage; emoji: string }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const { list, more } = usePages<string>(run, `${m.conversation}/${m.seq}/${emoji}`, m.reactions?.version ?? 0, async (page) => {
    const { users, next } = await client.reactors(m.conversation, m.seq, emoji, page);
    return { items: users, next };
  });
  return (
    <>
      {error && <p className="error" role="alert">{error}</p>}
      {!list && !error && <p role="status">{t("loading")}</p>}
      {list && <UserLinks users={list} />}
      {more && <button type="button" onClick={more}>{t("showMore")}</button>}
    </>
  );
}
