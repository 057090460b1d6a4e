import type { ConversationView } from "@rialto-im/client";
import { useEffect, useId, useRef, useState, type FormEvent, type KeyboardEvent } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { ChosenNames } from "../mentions.js";
import { IconButton } from "../ui/IconButton.js";
import { formatKey } from "./formatting.js";
import { CheckIcon, CloseIcon } from "./icons.js";
import { ComposedPreview } from "./LinkPreviewCard.js";
import { MentionList, mentionAria } from "./MentionList.js";
import { Quote } from "./Quote.js";
import { useLinkPreview } from "./useLinkPreview.js";
import { useMentioning } from "./useMentioning.js";

/** Edits a text of one's own, or the caption of a file, in the place of the composer. */
export function EditMessage({ c, seq, text: before, onDone }: { c: ConversationView; seq: number; text: string; onDone: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, error } = useAction();
  const [text, setText] = useState(before);
  const field = useRef<HTMLTextAreaElement>(null);
  const listId = useId();
  const [names] = useState(() => new ChosenNames());
  const mentioning = useMentioning(c, field, text, setText, names);
  useEffect(() => {
    const m = client.messages(c.id).find((m) => m.seq === seq);
    if (m) names.takeFrom(m.text, m.content);
    return () => names.forget();
  }, [client, c.id, seq, names]);
  const [content] = useState(() => client.messages(c.id).find((m) => m.seq === seq)?.content);
  const shown = content?.linkPreview;
  const isCaption = content !== undefined && content.kind.case !== "text";
  const previewing = useLinkPreview(isCaption ? "" : text, shown);
  useEffect(() => {
    field.current?.focus();
    field.current?.setSelectionRange(before.length, before.length);
  }, [before]);
  const save = (e: FormEvent) => {
    e.preventDefault();
    const said = text.trim();
    if (!said && !isCaption) return;
    const linkPreview = previewing.previewOf(said);
    if (said === before && linkPreview?.url === shown?.url) return onDone();
    void run(() => client.edit(c.id, seq, said, names.mentionsIn(said), linkPreview).then(onDone));
  };
  const key = (e: KeyboardEvent) => {
    if (mentioning.key(e) || formatKey(e, field.current, setText)) return;
    if (e.key === "Escape") {
      e.preventDefault();
      onDone();
    }
    if (e.key === "Enter" && !e.shiftKey && !e.nativeEvent.isComposing) save(e);
  };
  return (
    <form className="composer" onSubmit={save}>
      {error && <p className="error" role="alert">{error}</p>}
      <div className="replying" role="group" aria-label={t("editing")}><strong>{t("editing")}</strong><Quote conversation={c.id} seq={seq} /></div>
      <ComposedPreview p={previewing.preview} onRemove={previewing.remove} />
      <MentionList id={listId} of={mentioning} />
      <div className="composer-row">
        <IconButton label={t("cancel")} side="top" onClick={onDone}><CloseIcon /></IconButton>
        <textarea ref={field} rows={2} aria-label={t("editing")} dir="auto" value={text} onChange={(e) => { setText(e.target.value); mentioning.moved(); }} onSelect={mentioning.moved} onKeyDown={key} {...mentionAria(listId, mentioning)} data-testid="editor" />
        <IconButton label={t("save")} side="top" type="submit" className="send" disabled={!isCaption && !text.trim()}><CheckIcon /></IconButton>
      </div>
    </form>
  );
}
