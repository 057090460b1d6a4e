import type { ConversationView, ReplyTarget } from "@rialto-im/client";
import { useComposer } from "@rialto-im/client/react";
import { lazy, Suspense, useCallback, useEffect, useId, useRef, useState, type KeyboardEvent, type RefObject } from "react";
import { drafts } from "../client.js";
import { errorText } from "../errors.js";
import { useText } from "../i18n.js";
import { ChosenNames } from "../mentions.js";
import { IconButton } from "../ui/IconButton.js";
import { MentionList, mentionAria } from "./MentionList.js";
import { useMentioning } from "./useMentioning.js";
import { formatKey } from "./formatting.js";
import { ComposedPreview } from "./LinkPreviewCard.js";
import { useLinkPreview, type LinkPreviewing } from "./useLinkPreview.js";
import { ClipIcon, CloseIcon, MicIcon, PlaceIcon, SendIcon, SmileIcon } from "./icons.js";
import { OutgoingQuote, Quote } from "./Quote.js";
import { Recorder } from "./Recorder.js";
import { usePlace } from "./usePlace.js";

const EmojiPicker = lazy(() => import("./EmojiPicker.js"));

/** A touch screen's keyboard covers half the chat and has Enter for new lines: it comes when one asks for it. */
const touch = matchMedia("(pointer: coarse)").matches;

export function Composer({ c, replyTo, onReplied, onFiles }: { c: ConversationView; replyTo?: ReplyTarget | undefined; onReplied: () => void; onFiles: (files: readonly File[]) => void }) {
  const t = useText();
  const [names] = useState(() => new ChosenNames(drafts.namesKey(c.id)));
  const previewOf = useRef<LinkPreviewing["previewOf"]>(undefined);
  const optionsOf = useCallback((said: string) => ({ mentions: names.mentionsIn(said), linkPreview: previewOf.current?.(said) }), [names]);
  const { text, setText: change, canSend, send: sendText, error, setFocused } = useComposer(c.id, drafts, replyTo, optionsOf);
  const previewing = useLinkPreview(text);
  previewOf.current = previewing.previewOf;
  const send = () => sendText().then((sent) => {
    if (!sent) return;
    names.forget();
    onReplied();
  });
  const [emoji, setEmoji] = useState(false);
  const [recording, setRecording] = useState(false);
  /** Why no recording was sent, or no place. */
  const [refusal, setRefusal] = useState<string>();
  const { sending, sendPlace } = usePlace(c.id, setRefusal);
  const field = useRef<HTMLTextAreaElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const listId = useId();
  const mentioning = useMentioning(c, field, text, change, names);
  useGrowing(field, text, replyTo);

  const key = (e: KeyboardEvent) => {
    if (mentioning.key(e) || formatKey(e, field.current, change)) return;
    if (e.key === "Enter" && !touch && !e.shiftKey && !e.nativeEvent.isComposing) {
      e.preventDefault();
      void send();
    }
    if (e.key === "Escape" && (emoji || replyTo !== undefined)) {
      e.preventDefault();
      if (emoji) setEmoji(false);
      else onReplied();
    }
  };

  const attach = (list: FileList | null) => {
    if (list && list.length > 0) onFiles([...list]);
    if (files.current) files.current.value = "";
  };

  return (
    <form
      className="composer"
      onSubmit={(e) => { e.preventDefault(); void send(); }}
    >
      {(error || refusal) && <p className="error" role="alert">{error ? errorText(error) : refusal}</p>}
      {replyTo !== undefined && (
        <div className="replying" role="group" aria-label={t("reply")}>
          {typeof replyTo === "number" ? <Quote conversation={c.id} seq={replyTo} /> : <OutgoingQuote conversation={c.id} clientSeq={replyTo.clientSeq} />}
          <IconButton label={t("cancelReply")} side="top" onClick={onReplied}><CloseIcon /></IconButton>
        </div>
      )}
      <ComposedPreview p={previewing.preview} onRemove={previewing.remove} />
      <MentionList id={listId} of={mentioning} />
      {emoji && <Suspense><EmojiPicker onPick={(s) => insert(field.current, s, text, change)} onClose={() => { setEmoji(false); field.current?.focus(); }} /></Suspense>}
      {recording ? <Recorder conversation={c.id} onDone={(why) => { setRecording(false); setRefusal(why); requestAnimationFrame(() => field.current?.focus()); }} /> : <div className="composer-row">
        <input ref={files} type="file" multiple hidden onChange={(e) => attach(e.target.files)} data-testid="file" />
        <IconButton label={t("attach")} side="top" onClick={() => files.current?.click()}><ClipIcon /></IconButton>
        <IconButton label={t("emoji")} side="top" aria-expanded={emoji} onClick={() => setEmoji(!emoji)}><SmileIcon /></IconButton>
        <textarea ref={field} rows={1} autoFocus={!touch} placeholder={t("writeMessage")} aria-label={t("writeMessage")} dir="auto" value={text} onChange={(e) => { change(e.target.value); mentioning.moved(); }} onSelect={mentioning.moved} onKeyDown={key} {...mentionAria(listId, mentioning)} onFocus={() => setFocused(true)} onBlur={() => setFocused(false)} onPaste={(e) => { if (e.clipboardData.files.length > 0) attach(e.clipboardData.files); }} data-testid="composer" />
        {text === "" && <IconButton label={t("sendPlace")} side="top" disabled={sending} onClick={sendPlace}><PlaceIcon /></IconButton>}
        {text === "" && <IconButton label={t("record")} side="top" onClick={() => { setRefusal(undefined); setRecording(true); }}><MicIcon /></IconButton>}
        <IconButton label={t("send")} side="top" type="submit" className="send" disabled={!canSend}><SendIcon /></IconButton>
      </div>}
      {text !== "" && <p className="composer-hint" aria-hidden>{t("formatHint")}</p>}
    </form>
  );
}

/** A field as high as its text, up to a few lines. It gets the focus once one replies. */
function useGrowing(field: RefObject<HTMLTextAreaElement | null>, text: string, replyTo: ReplyTarget | undefined): void {
  useEffect(() => {
    const el = field.current;
    if (!el) return;
    el.style.height = "auto";
    el.style.height = `${Math.min(el.scrollHeight + el.offsetHeight - el.clientHeight, 180)}px`; // with its borders: else it has a scrollbar
  }, [field, text]);
  useEffect(() => {
    if (replyTo !== undefined) field.current?.focus();
  }, [field, replyTo]);
}

/** Puts something in the place of what is selected. */
function insert(el: HTMLTextAreaElement | null, s: string, text: string, change: (text: string) => void): void {
  const at = el?.selectionStart ?? text.length;
  change(text.slice(0, at) + s + text.slice(el?.selectionEnd ?? at));
  requestAnimationFrame(() => {
    el?.focus();
    el?.setSelectionRange(at + s.length, at + s.length);
  });
}
