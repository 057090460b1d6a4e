import { BrokenOffCause, WhoMayStop, WritingState, type BrokenOff, type ChatMessage } from "@rialto-im/client";
import { useStreamed } from "@rialto-im/client/react";
import { useState } from "react";
import { useClient } from "../client.js";
import { errorText } from "../errors.js";
import { useText, type Translate } from "../i18n.js";
import { nameOf } from "../names.js";
import { MarkdownText } from "./MarkdownText.js";
import "./streamed.css";

/** A message that its sender is still writing: the text so far, what the sender does, and a button for those who may stop it. */
export function StreamedBody({ m, manages, group }: { m: ChatMessage; manages: boolean; group: boolean }) {
  const client = useClient();
  const t = useText();
  const { text, state, note } = useStreamed(m.conversation, m.seq);
  const [stopping, setStopping] = useState(false);
  const [error, setError] = useState("");
  const stop = async () => {
    setStopping(true);
    setError("");
    try {
      await client.streamed.stop(m.conversation, m.seq);
    } catch (err) {
      setError(errorText(err));
      setStopping(false);
    }
  };
  return (
    <div className="streamed" data-testid="streamed" aria-busy="true">
      {text && <MarkdownText text={text} content={m.content} />}
      <p className="streamed-state">
        <span role="status">{stateText(state, note, t)}</span>
        {mayStop(m, client.me, manages, group) && <button type="button" className="link" disabled={stopping} onClick={() => void stop()}>{t("stopWriting")}</button>}
      </p>
      {error && <p className="error" role="alert">{error}</p>}
    </div>
  );
}

/** The mark of a text that is not whole. */
export function BrokenOffMark({ why }: { why: BrokenOff }) {
  const client = useClient();
  const t = useText();
  return <p className="streamed-state" data-testid="broken-off">{brokenOffText(why, (u) => (u === client.me ? t("youObject") : nameOf(client, u)), t)}</p>;
}

function stateText(state: WritingState, note: string, t: Translate): string {
  switch (state) {
    case WritingState.THINKING:
      return note ? t("thinkingOf", { what: note }) : t("thinking");
    case WritingState.TOOL:
      return note ? t("usingTool", { what: note }) : t("usingATool");
    default:
      return t("beingWritten");
  }
}

function brokenOffText(why: BrokenOff, name: (user: string) => string, t: Translate): string {
  switch (why.cause) {
    case BrokenOffCause.STOPPED:
      return t("stoppedBy", { who: name(why.by) });
    case BrokenOffCause.DENIED:
      return t("brokenOffDenied");
    case BrokenOffCause.HELD:
      return t("brokenOffHeld");
    default:
      return t("brokenOff");
  }
}

function mayStop(m: ChatMessage, me: string, manages: boolean, group: boolean): boolean {
  if (m.content.kind.case !== "streamed" || m.sender === me) return m.sender === me;
  const who = m.content.kind.value.whoMayStop;
  return who === WhoMayStop.UNSPECIFIED || (who === WhoMayStop.ADMINS && (manages || !group));
}
