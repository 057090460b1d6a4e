import { isOffline, type Client, type ConversationView, type Member } from "@rialto-im/client";
import { useCallback, useEffect, useRef, useState } from "react";
import type { RunAction } from "./action.js";
import { useClient, useOnline } from "./client.js";

const pageSize = 200;

interface Loaded {
  members: readonly Member[];
  /** The next page; empty where these are all. */
  next: string;
}

const none: Loaded = { members: [], next: "" };

/** Reads on from what is loaded, until there are at least so many members. */
async function readOn(client: Client, conversation: string, from: Loaded, least: number): Promise<Loaded> {
  let { members, next } = from;
  do {
    const r = await client.chat.listMembers({ conversation, limit: pageSize, page: next });
    members = [...members, ...r.members];
    next = r.next;
  } while (next !== "" && members.length < least);
  return { members, next };
}

/** Reads the presence of members once: those of large groups are too many to be watched. */
async function readPresence(client: Client, members: readonly Member[]): Promise<void> {
  try {
    await client.readPresence(members.slice(0, pageSize).map((m) => m.user));
  } catch (err) {
    if (!isOffline(err)) throw err; // the list is of use without it
  }
}

export interface Members {
  readonly members: readonly Member[];
  /** Whether these are all. */
  readonly complete: boolean;
  /** Loads one page more. */
  readonly more: () => void;
  /** Loads what is missing, until there are at least so many; without a number, all. */
  readonly rest: (least?: number) => void;
  /** Reads again what is loaded: who follows a channel changes without an event. */
  readonly again: () => void;
}

/** The members of a group, page by page, once they are needed. What is loaded is read again when the group changes. */
export function useMembers(c: ConversationView, run: RunAction, needed = true): Members {
  const client = useClient();
  const online = useOnline();
  const [loaded, setLoaded] = useState(none);
  const latest = useRef(loaded);
  latest.current = loaded;
  /** The reading under way: a newer one takes its place. */
  const reading = useRef<object>(undefined);
  const read = useCallback(
    (from: Loaded, least: number) => {
      const mine = (reading.current = {});
      void run(async () => {
        try {
          const found = await readOn(client, c.id, from, least);
          if (reading.current !== mine) return;
          setLoaded(found);
          await readPresence(client, found.members.slice(from.members.length));
        } finally {
          if (reading.current === mine) reading.current = undefined;
        }
      });
    },
    [client, c.id],
  );
  useEffect(() => {
    if (needed && online && c.leaveSeq === 0) read(none, latest.current.members.length);
    return () => void (reading.current = undefined);
  }, [read, needed, online, c.stateSeq, c.leaveSeq]);
  const more = useCallback(() => {
    if (!reading.current && latest.current.next !== "") read(latest.current, 0);
  }, [read]);
  const rest = useCallback((least = Infinity) => {
    if (latest.current.next !== "") read(latest.current, least);
  }, [read]);
  const again = useCallback(() => read(none, latest.current.members.length), [read]);
  return { members: loaded.members, complete: loaded.next === "" && loaded.members.length > 0, more, rest, again };
}
