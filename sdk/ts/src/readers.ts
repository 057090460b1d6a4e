import type { ReadersUpdate, WatchedMessage } from "./gen/rialto/gateway/v1/gateway_pb.js";

/** What is new in an open list of readers. */
export interface NewReaders {
  /** Users who have read the message since. */
  users: readonly string[];
  /** There may be others: read the list again. */
  more: boolean;
}

interface OpenList {
  conversation: string;
  seq: number;
  told: (news: NewReaders) => void;
}

/** The server's limit. */
const mostWatched = 8;

/** ReaderLists are the lists of readers that the app shows; the newest are kept up to date. */
export class ReaderLists {
  private readonly lists = new Set<OpenList>();

  constructor(private readonly send: (messages: readonly Pick<WatchedMessage, "conversation" | "seq">[]) => void) {}

  /** Keeps a list up to date until the returned function is called. */
  watch(conversation: string, seq: number, told: (news: NewReaders) => void): () => void {
    const list = { conversation, seq, told };
    this.lists.add(list);
    this.ask();
    return () => {
      if (this.lists.delete(list)) this.ask();
    };
  }

  /** The socket is open: the server knows of nothing yet, and the lists may have changed. */
  opened(): void {
    if (this.lists.size > 0) this.ask();
  }

  /** The answer to the question names nobody: from then on changes are told, so that the list is to be read now. */
  take(updates: readonly ReadersUpdate[]): void {
    for (const u of updates) {
      const more = u.more || u.users.length === 0;
      for (const l of this.lists) if (l.conversation === u.conversation && l.seq === Number(u.seq)) l.told({ users: u.users, more });
    }
  }

  private ask(): void {
    this.send([...this.lists].slice(-mostWatched).map((l) => ({ conversation: l.conversation, seq: BigInt(l.seq) })));
  }
}
