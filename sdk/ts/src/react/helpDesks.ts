import { useCallback, useEffect, useMemo, useState } from "react";
import type { Client } from "../client.js";
import type { HelpDesk, Ticket } from "../gen/rialto/chat/v1/helpdesk_pb.js";
import { TicketStatus } from "../gen/rialto/chat/v1/message_pb.js";
import { unread } from "../model.js";
import type { TicketFilter, TicketList } from "../tickets.js";
import { useOwner, useRialto, useSnapshot } from "./context.js";
import { useOnline } from "./hooks.js";

/** The help desks, read again when the component is shown. */
export function useHelpDesks(): readonly HelpDesk[] {
  const client = useRialto();
  const online = useOnline();
  useEffect(() => {
    if (online) client.helpDesks.load().catch(() => {}); // what is known stays
  }, [client, online]);
  return useSnapshot((c) => c.helpDesks.desks());
}

/** The ticket whose conversation this is, read again when the component is shown. Undefined for any other one, and until it is known. */
export function useTicket(conversation: string): Ticket | undefined {
  const client = useRialto();
  const online = useOnline();
  const isTicket = useSnapshot((c) => c.conversation(conversation)?.ticket ?? false);
  useEffect(() => {
    if (isTicket && online) client.helpDesks.loadTicket(conversation).catch(() => {}); // what is known stays
  }, [client, conversation, isTicket, online]);
  return useSnapshot((c) => (isTicket ? c.helpDesks.ticket(conversation) : undefined));
}

export interface Tickets {
  readonly tickets: readonly Ticket[];
  /** The first page is not there yet. */
  readonly loading: boolean;
  /** Why no page could be read. */
  readonly error: unknown;
  readonly hasMore: boolean;
  /** Reads the next page. */
  readonly loadMore: () => Promise<void>;
}

/** A list of tickets that stays current while the component is shown: of a desk, those with a status; or the user's own, the newest first. */
export function useTickets(filter?: TicketFilter): Tickets {
  const client = useRialto();
  const online = useOnline();
  const owner = useOwner();
  const key = filter && JSON.stringify(filter);
  const { list, watch } = useMemo(() => client.helpDesks.tickets(key === undefined ? undefined : (JSON.parse(key) as TicketFilter)), [client, owner, key]);
  const [error, setError] = useState<unknown>();
  useEffect(() => watch(), [watch]);
  useEffect(() => {
    if (online) list.refresh().then(() => setError(undefined), setError);
  }, [list, online]);
  const loadMore = useCallback(() => list.more().then(() => setError(undefined), setError), [list]);
  const tickets = useSnapshot(() => list.tickets);
  const hasMore = useSnapshot(() => list.hasMore);
  const loaded = useSnapshot(() => list.loaded);
  return { tickets, loading: !loaded && error === undefined, error, hasMore, loadMore };
}

/** What waits for the user as an agent of a help desk. */
export interface AgentWork {
  readonly desk: string;
  /** Tickets in the queue, without those that the user opened as a customer. */
  readonly waiting: number;
  /** Tickets that the user serves and that have unread messages. */
  readonly unread: number;
  /** The queue has more tickets than were counted. */
  readonly hasMore: boolean;
}

/** What waits in each desk whose agent the user is. It is counted from the tickets each time, and stays current while the component is shown. */
export function useAgentWork(): readonly AgentWork[] {
  const client = useRialto();
  const online = useOnline();
  const owner = useOwner();
  const desks = useHelpDesks().filter((d) => d.isAgent).map((d) => d.id).join();
  const watched = useMemo(() => (desks ? desks.split(",") : []).map((desk) => {
    const queue = client.helpDesks.tickets({ desk, status: TicketStatus.WAITING });
    const own = client.helpDesks.tickets({ desk, status: TicketStatus.ACTIVE, mine: true });
    return { desk, queue: queue.list, own: own.list, watch: [queue.watch, own.watch] };
  }), [client, owner, desks]);
  useEffect(() => {
    const stops = watched.flatMap((w) => w.watch.map((watch) => watch()));
    return () => stops.forEach((stop) => stop());
  }, [watched]);
  useEffect(() => {
    if (online) for (const list of watched.flatMap((w) => [w.queue, w.own])) list.refresh().catch(() => {}); // what is known stays
  }, [watched, online]);
  // An event of a desk of which the user is not known to be an agent: they have become one.
  useEffect(() => client.on("ticket", (t) => {
    const { helpDesks } = client;
    if (t.customer !== client.me && helpDesks.loaded && !helpDesks.desks().some((d) => d.id === t.desk && d.isAgent)) helpDesks.load().catch(() => {});
  }), [client]);
  const counted = useSnapshot((c) => JSON.stringify(watched.map(({ desk, queue, own }) => workOf(c, desk, queue, own))));
  return useMemo(() => JSON.parse(counted) as AgentWork[], [counted]);
}

function workOf(client: Client, desk: string, queue: TicketList, own: TicketList): AgentWork {
  const isUnread = ({ id }: Ticket) => {
    const c = client.conversation(id);
    return c !== undefined && !c.muted && !c.archived && unread(c) > 0;
  };
  const waiting = queue.tickets.filter((t) => t.customer !== client.me).length;
  return { desk, waiting, unread: own.tickets.filter(isUnread).length, hasMore: queue.hasMore };
}
