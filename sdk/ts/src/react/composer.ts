import { useCallback, useEffect, useRef, useState, type RefObject } from "react";
import { RialtoError, asError } from "../errors.js";
import type { ReplyTarget, SendOptions } from "../session.js";
import { useRialto, useSnapshot } from "./context.js";

const draftAfterMs = 800;
const typingEveryMs = 2_000;
/** The server's limit, in Unicode code points. */
const mostCharacters = 100_000;

/** Where a composer stores what is typed. */
export interface DraftStore {
  /** Called with each change. */
  store?(conversation: string, text: string): void;
  /** Called a moment after the last change, and when the composer goes away. */
  save(conversation: string, text: string): Promise<void>;
  /** Called in place of save where the conversation has this draft already. */
  discard?(conversation: string, text: string): void;
}

export interface Composer {
  readonly text: string;
  /** Takes what is typed: stores the draft, and tells the others that one is typing. */
  readonly setText: (text: string) => void;
  /** Whether there is something to send. */
  readonly canSend: boolean;
  /** Sends the text without white space around it, and empties the composer. False where the text could not be stored: see error. */
  readonly send: () => Promise<boolean>;
  /** Why the last send failed; undefined after the next change. */
  readonly error: RialtoError | undefined;
  /** Tell it when the field has the focus: a draft from another device then does not replace the text. */
  readonly setFocused: (focused: boolean) => void;
}

/**
 * The state of a field that writes to a conversation. The draft is the conversation's, on all devices. Without `drafts` the client
 * stores it. replyTo is what is answered, and the same object at each rendering; optionsOf finds the mentions and the link preview of a text that is sent. Give the component a `key` of the conversation.
 */
export function useComposer(conversation: string, drafts?: DraftStore, replyTo?: ReplyTarget, optionsOf?: (text: string) => Pick<SendOptions, "mentions" | "linkPreview">): Composer {
  const client = useRialto();
  const draft = useSnapshot((c) => c.conversation(conversation)?.draft ?? "");
  const [text, show] = useState(draft);
  const [error, setError] = useState<RialtoError>();
  const latest = useRef(text);
  const store = useRef(drafts);
  store.current = drafts;
  const focused = useRef(false);
  const typingSent = useRef(0);

  const change = useCallback((value: string) => {
    latest.current = value;
    show(value);
  }, []);

  useSavedDraft(conversation, text, latest, store);

  // A draft that was written on another device shows here, unless one is writing.
  const before = useRef(draft);
  useEffect(() => {
    if (latest.current === before.current && !focused.current) change(draft);
    before.current = draft;
  }, [draft, change]);

  const setText = useCallback(
    (value: string) => {
      change(value);
      setError(undefined);
      store.current?.store?.(conversation, value);
      const now = Date.now();
      if (!value || now - typingSent.current <= typingEveryMs) return;
      typingSent.current = now;
      client.tellTyping(conversation);
    },
    [client, conversation, change],
  );

  const send = useCallback(async () => {
    const said = latest.current.trim();
    if (!said) return false;
    if ([...said].length > mostCharacters) {
      setError(new RialtoError("invalid_argument", `a text has at most ${mostCharacters} characters`, "text_too_long"));
      return false;
    }
    setError(undefined);
    const put = (value: string) => {
      change(value);
      store.current?.store?.(conversation, value);
    };
    try {
      put("");
      await client.sendText(conversation, said, { replyTo, ...optionsOf?.(said) });
      return true;
    } catch (err) {
      put(latest.current ? `${said}\n${latest.current}` : said); // before what was typed meanwhile
      setError(asError(err));
      return false;
    }
  }, [client, conversation, change, replyTo, optionsOf]);

  const setFocused = useCallback((is: boolean) => void (focused.current = is), []);
  return { text, setText, canSend: text.trim() !== "", send, error, setFocused };
}

/** Saves the draft a moment after the last change, and when the composer goes away. */
function useSavedDraft(conversation: string, text: string, latest: RefObject<string>, store: RefObject<DraftStore | undefined>): void {
  const client = useRialto();
  const save = useCallback(() => {
    const known = client.conversation(conversation);
    if (known?.draft === latest.current) store.current?.discard?.(conversation, latest.current);
    else if (known && store.current) void store.current.save(conversation, latest.current);
    else if (known) client.configure(conversation, { draft: latest.current }).catch(() => {}); // a draft is not worth an error
  }, [client, conversation, latest, store]);
  useEffect(() => {
    const timer = setTimeout(save, draftAfterMs);
    return () => clearTimeout(timer);
  }, [text, save]);
  useEffect(() => save, [save]);
}
