import type { ConversationView } from "@rialto-im/client";
import { useCallback, useEffect, useRef, useState, type KeyboardEvent } from "react";
import { client, drafts, uploads } from "../client.js";
import { errorText } from "../errors.js";
import { useText } from "../i18n.js";
import { EmojiPicker } from "./EmojiPicker.js";
import { ClipIcon, SendIcon, SmileIcon } from "./icons.js";

const draftAfterMs = 800;
const typingEveryMs = 2_000;
const mostChars = 100_000;
/** A touch screen's keyboard covers half the chat and has Enter for new lines: it comes when one asks for it. */
const touch = matchMedia("(pointer: coarse)").matches;

export function Composer({ c }: { c: ConversationView }) {
  const t = useText();
  const [text, setText] = useState(c.draft);
  const [emoji, setEmoji] = useState(false);
  const [error, setError] = useState("");
  const field = useRef<HTMLTextAreaElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const typed = useRef(0);
  const latest = useRef(text);
  latest.current = text;

  // The draft follows a moment after the last key, and at once when one turns to another chat.
  const keepDraft = useCallback(() => {
    const known = client.conversation(c.id);
    if (known?.draft === latest.current) drafts.release(c.id, latest.current);
    else if (known) void drafts.keep(c.id, latest.current);
  }, [c.id]);
  useEffect(() => {
    const timer = setTimeout(keepDraft, draftAfterMs);
    return () => clearTimeout(timer);
  }, [text, keepDraft]);
  useEffect(() => keepDraft, [keepDraft]);

  // A draft written on another device shows here, unless one is writing.
  const draftBefore = useRef(c.draft);
  useEffect(() => {
    if (latest.current === draftBefore.current && document.activeElement !== field.current) setText(c.draft);
    draftBefore.current = c.draft;
  }, [c.draft]);

  useEffect(() => {
    const el = field.current;
    if (!el) return;
    el.style.height = "auto";
    el.style.height = `${Math.min(el.scrollHeight, 180)}px`;
  }, [text]);

  const send = async () => {
    const said = text.trim();
    if (!said) return;
    if ([...said].length > mostChars) return setError(t("errTooLong"));
    setText("");
    drafts.hold(c.id, "");
    setError("");
    try {
      await client.sendText(c.id, said);
    } catch (err) {
      setText(said);
      drafts.hold(c.id, said);
      setError(errorText(err));
    }
  };

  const key = (e: KeyboardEvent) => {
    if (e.key === "Enter" && !touch && !e.shiftKey && !e.nativeEvent.isComposing) {
      e.preventDefault();
      void send();
    }
    if (e.key === "Escape" && emoji) {
      e.preventDefault();
      setEmoji(false);
    }
  };

  const change = (value: string) => {
    setText(value);
    setError("");
    drafts.hold(c.id, value);
    const now = Date.now();
    if (value && now - typed.current > typingEveryMs) {
      typed.current = now;
      client.tellTyping(c.id);
    }
  };

  const attach = (list: FileList | null) => {
    for (const file of list ?? []) uploads.add(c.id, file);
    if (files.current) files.current.value = "";
  };

  const insert = (s: string) => {
    const el = field.current;
    const at = el?.selectionStart ?? text.length;
    change(text.slice(0, at) + s + text.slice(el?.selectionEnd ?? at));
    requestAnimationFrame(() => {
      el?.focus();
      el?.setSelectionRange(at + s.length, at + s.length);
    });
  };

  return (
    <form
      className="composer"
      onSubmit={(e) => { e.preventDefault(); void send(); }}
    >
      {error && <p className="error" role="alert">{error}</p>}
      {emoji && <EmojiPicker onPick={insert} onClose={() => { setEmoji(false); field.current?.focus(); }} />}
      <div className="composer-row">
        <input ref={files} type="file" multiple hidden onChange={(e) => attach(e.target.files)} data-testid="file" />
        <button type="button" className="icon" aria-label={t("attach")} title={t("attach")} onClick={() => files.current?.click()}><ClipIcon /></button>
        <button type="button" className="icon" aria-label={t("emoji")} title={t("emoji")} aria-expanded={emoji} onClick={() => setEmoji(!emoji)}><SmileIcon /></button>
        <textarea ref={field} rows={1} autoFocus={!touch} placeholder={t("writeMessage")} aria-label={t("writeMessage")} dir="auto" value={text} onChange={(e) => change(e.target.value)} onKeyDown={key} onPaste={(e) => { if (e.clipboardData.files.length > 0) attach(e.clipboardData.files); }} data-testid="composer" />
        <button className="icon send" aria-label={t("send")} title={t("send")} disabled={!text.trim()}><SendIcon /></button>
      </div>
    </form>
  );
}
