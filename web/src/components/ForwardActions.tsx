import type { ChatMessage, ConversationView } from "@rialto-im/client";
import { createContext, useCallback, useContext, useMemo, useState, type ReactNode } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { preview } from "../format.js";
import { useText } from "../i18n.js";
import { nameOf, titleOf } from "../names.js";
import { confirm } from "../ui/Confirm.js";
import { IconButton } from "../ui/IconButton.js";
import { ChatDialog } from "./ChatDialog.js";
import "./forward.css";
import { CloseIcon } from "./icons.js";
import { MessageActing, type Acting } from "./MessageMenu.js";

const mostForwarded = 100;

/** The seqs that are selected; undefined while one does not select. */
const Selection = createContext<{ seqs: readonly number[]; toggle: (seq: number) => void } | undefined>(undefined);

/** Forwards messages of a chat: one from its menu, or several that are selected. These can also be deleted. What else the menus begin goes to onAct. */
export function ForwardActions({ c, onAct, children }: { c: ConversationView; onAct: (acting: Acting) => void; children: ReactNode }) {
  const t = useText();
  const [selected, setSelected] = useState<readonly number[]>();
  const [forwarded, setForwarded] = useState<readonly number[]>();
  const act = useCallback((acting: Acting) => {
    if (acting.kind === "forward") setForwarded([acting.seq]);
    else if (acting.kind === "select") setSelected([acting.seq]);
    else onAct(acting);
  }, [onAct]);
  const selection = useMemo(() => selected && {
    seqs: selected,
    toggle: (seq: number) => setSelected(selected.includes(seq) ? selected.filter((s) => s !== seq) : [...selected, seq].slice(0, mostForwarded)),
  }, [selected]);
  const client = useClient();
  const { run, error } = useAction();
  const remove = async (seqs: readonly number[]) => {
    if (!(await confirm({ label: t("deleteForMe"), question: t("sureDeleteForMe", { n: seqs.length }) }))) return;
    setSelected(undefined);
    await run(() => client.deleteMessages(c.id, seqs));
  };
  return (
    <>
      <MessageActing value={act}><Selection value={selection}>{children}</Selection></MessageActing>
      {selected && (
        <div className="select-bar" role="toolbar" aria-label={t("select")} data-testid="select-bar">
          <IconButton label={t("cancel")} side="top" onClick={() => setSelected(undefined)}><CloseIcon /></IconButton>
          <span aria-live="polite">{t("selectedCount", { n: selected.length })}</span>
          <button className="danger small" disabled={selected.length === 0} onClick={() => void remove(selected)}>{t("deleteForMe")}</button>
          <button className="primary small" disabled={selected.length === 0} onClick={() => setForwarded(selected)}>{t("forward")}</button>
        </div>
      )}
      {error && <p className="error" role="alert">{error}</p>}
      {forwarded && <ForwardDialog c={c} seqs={forwarded} onClose={() => setForwarded(undefined)} onSent={() => setSelected(undefined)} />}
    </>
  );
}

/** A message with a box to select it, while one selects. */
export function Selectable({ m, children }: { m: ChatMessage; children: ReactNode }) {
  const client = useClient();
  const t = useText();
  const selection = useContext(Selection);
  if (!selection || m.recallSeq || m.content.kind.case === "control") return children;
  const name = nameOf(client, m.sender, t);
  return (
    <label className="select-row">
      <input type="checkbox" checked={selection.seqs.includes(m.seq)} aria-label={`${name}: ${preview(m, (u) => nameOf(client, u, t), t)}`} onChange={() => selection.toggle(m.seq)} />
      <div>{children}</div>
    </label>
  );
}

/** Chooses the chat to which messages go, and for several whether they go as one card. */
function ForwardDialog({ c, seqs, onClose, onSent }: { c: ConversationView; seqs: readonly number[]; onClose: () => void; onSent: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const [card, setCard] = useState(true);
  const send = (open: () => Promise<string>) =>
    run(async () => {
      await client.forward(await open(), c.id, seqs, seqs.length > 1 && card ? t("historyOf", { title: titleOf(c) }) : "");
      onSent();
      onClose();
    });
  return (
    <ChatDialog title={t("forwardTo")} error={error} onClose={onClose} onPick={(open) => void send(open)}>
      {seqs.length > 1 && <label className="check"><input type="checkbox" checked={card} onChange={(e) => setCard(e.target.checked)} /> {t("asCard")}</label>}
    </ChatDialog>
  );
}
