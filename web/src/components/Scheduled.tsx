import { findMentions, joinMentions, splitMentions, type Content, type ConversationView, type ScheduledMessage } from "@rialto-im/client";
import { useCallback, useEffect, useState, type FormEvent } from "react";
import type { RunAction } from "../action.js";
import { useClient, useOnline } from "../client.js";
import { preview, until } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { localTime } from "../localTime.js";
import { nameOf } from "../names.js";
import { Confirm } from "../ui/Confirm.js";

const hour = 3_600_000;

interface Draft {
  /** The id of the client for a new message, that of the server for one that waits. */
  id: string;
  /** Undefined where it is no text: only its time can be changed. */
  text: string | undefined;
  at: string;
  /** The message that is changed. */
  of?: ScheduledMessage;
}

function textOf({ content }: ScheduledMessage): string | undefined {
  return content?.kind.case === "text" ? content.kind.value : undefined;
}

/** The content of a scheduled message with another text. It mentions those whose names are still in the text. */
function rewritten(m: ScheduledMessage, text: string): Pick<Content, "kind" | "mentions"> & Partial<Pick<Content, "replyTo">> {
  const content = m.content!;
  const named = splitMentions(textOf(m) ?? "", content).flatMap((p) => (p.mentioned ? [{ name: p.text, mentioned: p.mentioned }] : []));
  return { kind: { case: "text", value: text }, mentions: joinMentions(findMentions(text, named)).mentions, ...(content.replyTo ? { replyTo: content.replyTo } : {}) };
}

/** One's messages that the server sends later: a form for a new one, and those that wait. */
export function Scheduled({ c, run }: { c: ConversationView; run: RunAction }) {
  const client = useClient();
  const t = useText();
  const online = useOnline();
  const [list, setList] = useState<readonly ScheduledMessage[]>([]);
  // The id stays the same until the server has the message, so that a second try makes no second one.
  const [draft, setDraft] = useState<Draft>();
  const load = useCallback(async () => setList((await client.chat.listScheduled({ conversation: c.id })).messages), [client, c.id]);
  useEffect(() => {
    if (online && c.leaveSeq === 0) void run(load);
  }, [load, run, online, c.leaveSeq, c.lastSeq]); // one that was sent is no longer listed
  if (c.leaveSeq > 0 || c.dissolved) return null;
  const save = (e: FormEvent) => {
    e.preventDefault();
    if (!draft) return;
    void run(async () => {
      const { id, text, of } = draft;
      const sendMs = BigInt(new Date(draft.at).getTime());
      if (of) await client.chat.updateScheduled({ id, sendMs, ...(text === undefined ? {} : { content: rewritten(of, text) }) }).finally(load);
      else await client.chat.scheduleMessage({ conversation: c.id, clientMsgId: id, content: { kind: { case: "text", value: text ?? "" } }, sendMs });
      setDraft(undefined);
      await load();
    });
  };
  const cancel = (id: string) => void run(() => client.chat.cancelScheduled({ id }).finally(load));
  return (
    <section className="stack" data-testid="scheduled">
      <h4>{t("scheduled")}</h4>
      {list.length > 0 && (
        <ul className="members">
          {list.map((m) => (
            <li key={m.id} className="person">
              <span className="person-name"><span dir="auto">{m.content && preview({ content: m.content }, (u) => nameOf(client, u, t), t)}</span><small>{m.failed ? <span className="error">{t("scheduledFailed")}</span> : t("sentAt", { when: until(Number(m.sendMs), getLocale()) })}</small></span>
              <button onClick={() => setDraft({ id: m.id, text: textOf(m), at: localTime(Number(m.sendMs)), of: m })}>{t("editMessage")}</button>
              <Confirm label={t("cancelScheduled")} question={t("sureCancelScheduled")} onYes={() => cancel(m.id)} />
            </li>
          ))}
        </ul>
      )}
      {draft ? (
        <form className="stack" onSubmit={save}>
          {draft.text !== undefined && <label>{t("scheduledText")}<textarea rows={2} required dir="auto" autoFocus value={draft.text} onChange={(e) => setDraft({ ...draft, text: e.target.value })} /></label>}
          <label>{t("sendAt")}<input type="datetime-local" required min={localTime(Date.now())} value={draft.at} onChange={(e) => setDraft({ ...draft, at: e.target.value })} /></label>
          <div className="buttons">
            <button className="primary" disabled={!online || draft.text?.trim() === ""}>{t(draft.of ? "save" : "schedule")}</button>
            <button type="button" onClick={() => setDraft(undefined)}>{t("cancel")}</button>
          </div>
        </form>
      ) : (
        <button onClick={() => setDraft({ id: crypto.randomUUID(), text: "", at: localTime(Date.now() + hour) })}>{t("scheduleMessage")}</button>
      )}
    </section>
  );
}
