import type { ServiceClient } from "./api.js";
import { isOffline } from "./errors.js";
import type { GetHelpDeskStatsResponse, HelpDesk, HelpDeskService, Ticket } from "./gen/rialto/chat/v1/helpdesk_pb.js";
import { TicketStatus } from "./gen/rialto/chat/v1/message_pb.js";
import { isOlder, TicketList, type TicketFilter } from "./tickets.js";

export interface HelpDesksDeps {
  /** The user who is logged in. */
  me: () => string;
  api: () => ServiceClient<typeof HelpDeskService>;
  /** Reads a conversation, so that it is known before the stream brings it. */
  readConversation: (id: string) => Promise<unknown>;
  onChange: () => void;
}

/** So many tickets are kept. */
const kept = 200;
/** So many tickets of a list are read at once. */
const pageSize = 50;
const none: readonly never[] = [];

/**
 * Help desks and their tickets: those of a customer, and those of the desks whose agent the user is. A ticket's id is that of its conversation.
 * What is known of a ticket is kept current by the stream: of two states, the one with the higher version is newer; of the same version, the
 * later one.
 */
export class HelpDesks {
  private readonly known = new Map<string, Ticket>();
  private readonly wanted = new Set<string>();
  private readonly lists = new Set<TicketList>();
  private list: readonly HelpDesk[] | undefined;
  private knownTo = "";

  constructor(private readonly deps: HelpDesksDeps) {}

  /** The help desks, as last read. */
  desks(): readonly HelpDesk[] {
    return (this.knownTo === this.deps.me() && this.list) || none;
  }

  /** Whether the list of help desks was read. */
  get loaded(): boolean {
    return this.knownTo === this.deps.me() && this.list !== undefined;
  }

  /** Reads the help desks: whether they are open, and to agents who the agents are. */
  async load(): Promise<readonly HelpDesk[]> {
    const { desks } = await this.deps.api().listHelpDesks({});
    this.own();
    this.list = desks;
    this.deps.onChange();
    return desks;
  }

  /** A ticket, as far as known. */
  ticket(id: string): Ticket | undefined {
    return this.knownTo === this.deps.me() ? this.known.get(id) : undefined;
  }

  /** Reads a ticket. */
  async loadTicket(id: string): Promise<Ticket> {
    return this.take(await this.deps.api().getTicket({ ticket: id }));
  }

  /** Reads a ticket that is not known, once: where that is refused, it stays unknown. */
  want(id: string): void {
    this.own();
    if (this.known.has(id) || this.wanted.has(id)) return;
    this.wanted.add(id);
    this.loadTicket(id).catch((err: unknown) => {
      if (isOffline(err)) this.wanted.delete(id);
    });
  }

  /** Opens a ticket. If the user has an open one with the desk, the answer is that one. */
  async open(desk: string, subject: string): Promise<Ticket> {
    return this.enter(await this.deps.api().openTicket({ desk, subject }));
  }

  /** Takes a waiting ticket, or the first of a desk's queue, as one of the desk's agents. */
  async takeTicket(of: { ticket: string } | { desk: string }): Promise<Ticket> {
    return this.enter(await this.deps.api().takeTicket(of));
  }

  /** Gives a ticket to another agent of its desk, or puts it into the queue of another desk. */
  async transfer(ticket: string, to: { agent: string } | { desk: string }): Promise<Ticket> {
    const t = await this.deps.api().transferTicket({ ticket, ...to });
    return t.agent === this.deps.me() ? this.enter(t) : this.take(t);
  }

  /** Ends a ticket: nobody can write in it then. */
  async resolve(ticket: string): Promise<Ticket> {
    return this.take(await this.deps.api().resolveTicket({ ticket }));
  }

  /** Puts a resolved ticket back into the queue, within seven days. */
  async reopen(ticket: string): Promise<Ticket> {
    return this.take(await this.deps.api().reopenTicket({ ticket }));
  }

  /** Rates a resolved ticket of the user's own: 1 to 5. */
  async rate(ticket: string, rating: number, comment = ""): Promise<Ticket> {
    return this.take(await this.deps.api().rateTicket({ ticket, rating, comment }));
  }

  /** The figures of a desk whose agent the user is: of tickets resolved from one time, until before another. */
  async stats(desk: string, fromMs: number, toMs: number): Promise<GetHelpDeskStatsResponse> {
    return this.deps.api().getHelpDeskStats({ desk, fromMs: BigInt(fromMs), toMs: BigInt(toMs) });
  }

  /** A list of the user's own tickets, or of some of a desk. It is kept current from when it is watched until unwatch is called. */
  tickets(filter?: TicketFilter): { list: TicketList; watch: () => () => void } {
    this.own();
    const { desk = "0", status = TicketStatus.UNSPECIFIED, mine = false } = filter ?? {};
    const list = new TicketList(filter, {
      me: this.deps.me(),
      read: (page) => this.deps.api().listTickets({ desk, status, mine, page, limit: pageSize }),
      newest: (t) => this.newest(t),
      onChange: this.deps.onChange,
    });
    const watch = () => {
      this.lists.add(list);
      return () => void this.lists.delete(list);
    };
    return { list, watch };
  }

  /** The stream says that a ticket changed. */
  changed(t: Ticket): void {
    this.take(t);
  }

  /** Takes a ticket whose conversation the user is in now. */
  private async enter(t: Ticket): Promise<Ticket> {
    await this.deps.readConversation(t.id).catch(() => {}); // the stream brings it
    return this.take(t);
  }

  private newest(t: Ticket): Ticket {
    const before = this.ticket(t.id);
    return before && isOlder(t, before) ? before : t;
  }

  private take(t: Ticket): Ticket {
    this.own();
    const newest = this.newest(t);
    if (newest !== t) return newest;
    this.known.delete(t.id);
    this.known.set(t.id, t);
    if (this.known.size > kept) this.forget(this.known.keys().next().value!);
    for (const list of this.lists) list.apply(t);
    this.deps.onChange();
    return t;
  }

  private forget(id: string): void {
    this.known.delete(id);
    this.wanted.delete(id);
  }

  /** What one user sees is not for another. */
  private own(): void {
    if (this.knownTo === this.deps.me()) return;
    this.knownTo = this.deps.me();
    this.known.clear();
    this.wanted.clear();
    this.lists.clear();
    this.list = undefined;
  }
}
