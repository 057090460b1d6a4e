import type { ListTicketsResponse, Ticket } from "./gen/rialto/chat/v1/helpdesk_pb.js";
import { TicketStatus } from "./gen/rialto/chat/v1/message_pb.js";

/** Which tickets of a desk a list has. */
export interface TicketFilter {
  desk: string;
  status: TicketStatus;
  /** Only those that the user serves or served. */
  mine?: boolean;
}

export interface TicketListDeps {
  me: string;
  /** Reads a page; the first one without a page. */
  read: (page: string) => Promise<ListTicketsResponse>;
  /** The newest known state of a ticket. */
  newest: (t: Ticket) => Ticket;
  onChange: () => void;
}

/** From so many tickets that came by events on, a list is read again from its beginning. */
const mostGrown = 500;
/** The server counts no position above. */
const lastPosition = 1000;

/** Whether the first of two states of a ticket is the older one. */
export function isOlder(a: Ticket, b: Ticket): boolean {
  return BigInt(a.version) < BigInt(b.version);
}

/** TicketList is a list of tickets that is read in pages, and kept current by what becomes known of tickets. */
export class TicketList {
  tickets: readonly Ticket[] = [];
  /** Whether the first page was read, and whether there are more. */
  loaded = false;
  hasMore = false;
  private next = "";
  private grown = 0;
  private tail: Promise<void> = Promise.resolve();
  /** What becomes known while a page is read: the page may be older. */
  private meanwhile: Map<string, Ticket> | undefined;

  /** Without a filter: the user's own tickets, the newest first. */
  constructor(
    private readonly filter: TicketFilter | undefined,
    private readonly deps: TicketListDeps,
  ) {}

  /** Reads the list from its beginning. */
  refresh(): Promise<void> {
    return this.inTurn(() => this.readPage(""));
  }

  /** Reads the next page; the first one, if that could not be read. */
  more(): Promise<void> {
    return this.inTurn(async () => {
      if (this.hasMore || !this.loaded) await this.readPage(this.next);
    });
  }

  private inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.tail.then(work);
    this.tail = done.catch(() => {});
    return done;
  }

  private async readPage(page: string): Promise<void> {
    this.meanwhile = new Map();
    try {
      const { tickets, next } = await this.deps.read(page);
      const before = page ? this.tickets : [];
      const known = new Set(before.map((t) => t.id));
      const fresh = tickets.map(this.deps.newest).filter((t) => !known.has(t.id) && this.matches(t));
      this.tickets = [...before, ...fresh];
      this.next = next;
      this.hasMore = next !== "";
      this.loaded = true;
      this.grown = 0;
      for (const t of this.meanwhile.values()) this.place(t);
      this.deps.onChange();
    } finally {
      this.meanwhile = undefined;
    }
  }

  /** Takes a ticket's state, which may put it into the list, move it or take it out. */
  apply(t: Ticket): void {
    this.meanwhile?.set(t.id, t);
    if (!this.loaded) return;
    this.place(t);
    if (this.grown > mostGrown && !this.meanwhile) this.refresh().catch(() => {}); // what is there stays
  }

  private place(t: Ticket): void {
    const was = this.tickets.findIndex((other) => other.id === t.id);
    if (was >= 0 && isOlder(t, this.tickets[was]!)) return;
    const others = this.tickets.filter((other) => other.id !== t.id);
    const at = this.matches(t) ? this.indexFor(t, was, others) : others.length + 1;
    if (at > others.length || (at === others.length && this.hasMore && was < 0)) {
      if (was >= 0) this.tickets = others; // it is elsewhere, or on a page that was not read
      return;
    }
    if (was < 0) this.grown++;
    this.tickets = [...others.slice(0, at), t, ...others.slice(at)];
  }

  private matches(t: Ticket): boolean {
    if (!this.filter) return t.customer === this.deps.me;
    const { desk, status, mine } = this.filter;
    return t.desk === desk && t.status === status && (!mine || t.agent === this.deps.me);
  }

  /** Where a ticket belongs among the others. */
  private indexFor(t: Ticket, was: number, others: readonly Ticket[]): number {
    if (!this.filter) {
      const older = others.findIndex((other) => other.openedMs < t.openedMs);
      return older < 0 ? others.length : older;
    }
    if (was >= 0 && this.tickets[was]!.version === t.version) return was;
    if (this.filter.status !== TicketStatus.WAITING) return 0; // the last changed first
    return t.position >= lastPosition || t.position === 0 ? others.length : Math.min(t.position - 1, others.length);
  }
}
