import { useCallback, useEffect, useMemo, useState } from "react";
import type { ConnectionState } from "../options.js";
import { isShownIn, type ChatMessage, type ConversationView, type OutgoingMessage, type User } from "../model.js";
import type { CustomStatusView } from "../customStatus.js";
import { lasting, type PresenceView } from "../people.js";
import { useRialto, useSnapshot } from "./context.js";

/** The state of the connection: signed-out, connecting, online, polling or offline. */
export function useConnection(): ConnectionState {
  return useSnapshot((c) => c.connection);
}

/** Whether calls get through now. */
export function useOnline(): boolean {
  return useSnapshot((c) => c.connection === "online" || c.connection === "polling");
}

/** The conversations: pinned first, then the last active first. */
export function useConversations(): readonly ConversationView[] {
  return useSnapshot((c) => c.conversations());
}

/** The threads that the user follows, the last active first. */
export function useThreads(): readonly ConversationView[] {
  return useSnapshot((c) => c.threads());
}

/** One conversation; undefined while it is not known. */
export function useConversation(id: string): ConversationView | undefined {
  return useSnapshot((c) => c.conversation(id));
}

/** The unread messages of all conversations that are neither muted nor archived. */
export function useBadge(): number {
  return useSnapshot((c) => c.badge());
}

/** A user's profile, fetched if it is not known. */
export function useUser(id: string): User | undefined {
  return useSnapshot((c) => c.user(id));
}

/** A user's custom status, while it lasts; the client knows that of the user, and of those whom `client.watch` names. */
export function useCustomStatus(user: string): CustomStatusView | undefined {
  return useSnapshot((c) => lasting(user === c.me ? c.settings()?.customStatus : c.presence(user)?.custom, Date.now()));
}

/** Presence of a user whom `client.watch` names; undefined while it is not known. */
export function usePresence(user: string): PresenceView | undefined {
  return useSnapshot((c) => c.presence(user));
}

/** Who is typing in a conversation now. */
export function useTyping(conversation: string): readonly string[] {
  return useSnapshot((c) => c.typing(conversation));
}

export interface Messages {
  /** What a person is shown of the loaded end of the conversation, in order. */
  readonly messages: readonly ChatMessage[];
  /** What was sent here and is not stored yet, in order. */
  readonly outgoing: readonly OutgoingMessage[];
  /** The seq of the newest entry that is loaded, shown or not: pass it to `client.read`. */
  readonly lastSeq: number;
  /** The end of the conversation is being fetched, and nothing of it is here. */
  readonly loading: boolean;
  /** Whether there are older messages than those that are loaded. */
  readonly hasOlder: boolean;
  /** Loads older messages. Throws while the server cannot be reached; calls during a call do nothing. */
  readonly loadOlder: () => Promise<void>;
}

/** The messages of a conversation, which is opened and kept whole from then on. */
export function useMessages(conversation: string): Messages {
  const client = useRialto();
  const all = useSnapshot((c) => c.messages(conversation));
  const outgoing = useSnapshot((c) => c.outgoing(conversation));
  const joinSeq = useSnapshot((c) => c.conversation(conversation)?.joinSeq ?? 0);
  const known = useSnapshot((c) => c.conversation(conversation)?.lastSeq ?? 0);
  const signedIn = useSnapshot((c) => c.connection !== "signed-out");
  /** The conversation whose beginning is reached. */
  const [begun, setBegun] = useState("");
  const [older] = useState(() => ({ loading: "" }));

  useEffect(() => {
    if (signedIn) void client.open(conversation);
  }, [client, conversation, signedIn]);

  const view = useSnapshot((c) => c.conversation(conversation));
  const messages = useMemo(() => all.filter((m) => isShownIn(view, m)), [all, view?.kind]);
  const first = all[0]?.seq ?? 0;
  const hasOlder = first > Math.max(1, joinSeq) && begun !== conversation;
  const loadOlder = useCallback(async () => {
    if (older.loading === conversation || client.messages(conversation).length === 0) return;
    older.loading = conversation;
    try {
      if (!(await client.older(conversation))) setBegun(conversation);
    } finally {
      older.loading = "";
    }
  }, [client, conversation, older]);
  return { messages, outgoing, lastSeq: all.at(-1)?.seq ?? 0, loading: all.length === 0 && known > 0, hasOlder, loadOlder };
}
