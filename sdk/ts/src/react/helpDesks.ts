import { useCallback, useEffect, useMemo, useState } from "react";
import type { HelpDesk, Ticket } from "../gen/rialto/chat/v1/helpdesk_pb.js";
import type { TicketFilter } from "../tickets.js";
import { useRialto, useSnapshot } from "./context.js";
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
  const me = useSnapshot((c) => c.me);
  const key = filter && JSON.stringify(filter);
  const { list, watch } = useMemo(() => client.helpDesks.tickets(key === undefined ? undefined : (JSON.parse(key) as TicketFilter)), [client, me, key]);
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
