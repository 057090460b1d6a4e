import type { CardOf } from "@rialto-im/client";
import { useState } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { ChatDialog } from "./ChatDialog.js";

/** A button that sends a card, of a person or a group, to a chat. */
export function ShareCard({ card }: { card: CardOf }) {
  const t = useText();
  const [choosing, setChoosing] = useState(false);
  return (
    <>
      <button onClick={() => setChoosing(true)}>{t("share")}</button>
      {choosing && <ShareDialog card={card} onClose={() => setChoosing(false)} />}
    </>
  );
}

/** Chooses the chat to which a card is sent. */
export function ShareDialog({ card, onClose }: { card: CardOf; onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const send = (open: () => Promise<string>) =>
    run(async () => {
      await client.sendCard(await open(), card);
      onClose();
    });
  return <ChatDialog title={t("shareWith", { what: card.title })} error={error} onClose={onClose} onPick={(open) => void send(open)} />;
}
