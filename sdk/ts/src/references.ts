import { isRefused } from "./errors.js";
import { messageKey, type LocalData, type ReplicaDeps } from "./localdata.js";
import { toMessage, type ChatMessage, type ConversationView, type IsSame } from "./model.js";
import type { History } from "./history.js";

/** The server gives so many messages at once by their seqs. */
const mostAsked = 200;

/** The newest message up to a seq by which that can be recognized: at the end, what follows the last message is not kept as one. */
export function recognizable(c: ConversationView, seq: number): number {
  const last = c.lastMessage?.seq ?? 0;
  return last > 0 && seq > last ? last : seq;
}

/**
 * After a reset, a server that has lost messages may have given their seqs to others. So what waits here and names a message by its seq is compared, before this
 * device drops its copy: up to a message with the id that is known here, a conversation is the same.
 */
export async function compareWaiting(data: LocalData, history: History, deps: Pick<ReplicaDeps, "store" | "api" | "unsentReferences">): Promise<IsSame> {
  await data.written();
  const waiting = new Map<string, Set<number>>();
  const want = (conversation: string, seq: number) => {
    if (seq > 0) waiting.set(conversation, (waiting.get(conversation) ?? new Set()).add(seq));
  };
  for (const r of deps.unsentReferences()) want(r.conversation, r.seq);
  for (const c of data.conversations.values()) {
    if (c.readPending) want(c.id, recognizable(c, c.readSeq));
    if (c.pendingClear) want(c.id, recognizable(c, c.pendingClear.through));
    for (const seq of c.pendingDeletes ?? []) want(c.id, seq);
  }
  const ends = new Map<string, number>();
  for (const [conversation, seqs] of waiting) {
    const known = await knownMessages(data, history, deps, conversation, seqs);
    const asked = [...known.keys()].sort((a, b) => b - a);
    for (let i = 0; i < asked.length && !ends.has(conversation); i += mostAsked) {
      const same = (await present(deps, conversation, asked.slice(i, i + mostAsked))).filter((m) => known.get(m.seq) === m.id);
      if (same.length > 0) ends.set(conversation, Math.max(...same.map((m) => m.seq)));
    }
  }
  return (conversation, seq) => seq <= (ends.get(conversation) ?? 0);
}

/** The ids of wanted messages that this device has. Others are left out: some may have come since the reset, as those of large groups. */
async function knownMessages(data: LocalData, history: History, deps: Pick<ReplicaDeps, "store">, conversation: string, wanted: ReadonlySet<number>): Promise<Map<number, string>> {
  const known = new Map<number, string>();
  const last = data.conversations.get(conversation)?.lastMessage;
  for (const seq of wanted) {
    const loaded = last?.seq === seq ? last : history.loaded(conversation).find((m) => m.seq === seq);
    const m = loaded ?? (await deps.store.get<ChatMessage>("messages", messageKey({ conversation, seq })));
    if (m) known.set(seq, m.id);
  }
  return known;
}

/** What the server has at these seqs; nothing of a conversation that it refuses. */
async function present(deps: Pick<ReplicaDeps, "api">, conversation: string, seqs: readonly number[]): Promise<ChatMessage[]> {
  try {
    return (await deps.api.getMessages({ conversation, seqs: seqs.map(BigInt) })).messages.map(toMessage);
  } catch (err) {
    if (isRefused(err)) return [];
    throw err; // it may have them: the sync begins again later
  }
}
