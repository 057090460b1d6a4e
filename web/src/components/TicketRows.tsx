import { TicketStatus, type HelpDesk, type Ticket } from "@rialto-im/client";
import type { Tickets } from "@rialto-im/client/react";
import type { ReactNode } from "react";
import { Link } from "wouter";
import type { RunAction } from "../action.js";
import { useClient } from "../client.js";
import { errorText } from "../errors.js";
import { ago } from "../format.js";
import { getLocale, useText, type Key } from "../i18n.js";
import { nameOf } from "../names.js";
import { useNow } from "../now.js";
import { path } from "../routes.js";
import { Menu, MenuItem } from "../ui/Menu.js";
import { UserAvatar } from "./Avatar.js";

/** Tickets in pages. */
export function TicketRows({ list, empty, render }: { list: Tickets; empty: string; render: (ticket: Ticket, index: number) => ReactNode }) {
  const t = useText();
  const { tickets, loading, error, hasMore, loadMore } = list;
  return (
    <>
      {error !== undefined && <p className="error" role="alert">{errorText(error)}</p>}
      {tickets.length === 0 && !hasMore && error === undefined && <p className="empty" role="status">{loading ? t("loading") : empty}</p>}
      <ul className="tickets">{tickets.map((ticket, n) => <li key={ticket.id} data-testid="ticket">{render(ticket, n)}</li>)}</ul>
      {hasMore && <button className="link" onClick={() => void loadMore()}>{t("showMoreTickets")}</button>}
    </>
  );
}

const states: Record<TicketStatus, Key> = { [TicketStatus.UNSPECIFIED]: "ticketWaiting", [TicketStatus.WAITING]: "ticketWaiting", [TicketStatus.ACTIVE]: "ticketActive", [TicketStatus.RESOLVED]: "ticketResolved" };

/** The text of a ticket's status. */
export function stateKey(ticket: Ticket): Key {
  return states[ticket.status];
}

/** A ticket of one's own, which leads to its chat. */
export function OwnTicketRow({ ticket }: { ticket: Ticket }) {
  const t = useText();
  const now = useNow();
  const about = [t(stateKey(ticket)), t("ticketOpened", { when: ago(Number(ticket.openedMs), getLocale(), t, now) }), ticket.rating > 0 ? t("ticketRated", { n: ticket.rating }) : ""];
  return (
    <Link className="ticket" href={path.chat(ticket.id)}>
      <span className="person-name"><bdi className="name" dir="auto">{ticket.subject || t("noSubject")}</bdi><small>{about.filter(Boolean).join(" · ")}</small></span>
    </Link>
  );
}

interface AgentRowProps {
  ticket: Ticket;
  desk: HelpDesk;
  /** In the queue: 1 is the next. */
  position?: number;
  run: RunAction;
  onOpen: (conversation: string) => void;
  onTransfer: (ticket: Ticket) => void;
}

/** A ticket for the agents of its desk, with what they can do with it. */
export function AgentTicketRow({ ticket, position, run, onOpen, onTransfer }: AgentRowProps) {
  const client = useClient();
  const t = useText();
  const now = useNow();
  const { helpDesks, me } = client;
  const { id, customer, agent, status } = ticket;
  const who = nameOf(client, customer);
  const own = customer === me;
  const serves = agent === me && status !== TicketStatus.WAITING;
  const about = [
    position === undefined ? "" : t("ticketPlace", { n: position }),
    who,
    t("ticketOpened", { when: ago(Number(ticket.openedMs), getLocale(), t, now) }),
    agent === "0" || serves ? "" : t("ticketBy", { who: nameOf(client, agent) }),
    ticket.rating > 0 ? t("ticketRated", { n: ticket.rating }) : "",
  ];
  const take = async () => onOpen((await helpDesks.takeTicket({ ticket: id })).id);
  const takeOver = async () => onOpen((await helpDesks.transfer(id, { agent: me })).id);
  return (
    <div className="ticket">
      <UserAvatar user={customer} size={36} />
      <span className="person-name"><bdi className="name" dir="auto">{ticket.subject || t("noSubject")}</bdi><small>{about.filter(Boolean).join(" · ")}</small></span>
      {status === TicketStatus.WAITING && !own && <button onClick={() => void run(take)} aria-label={`${t("takeTicket")}: ${who}`}>{t("takeTicket")}</button>}
      {(serves || own) && <Link className="button" href={path.chat(id)} aria-label={`${t("openChat")}: ${who}`}>{t("openChat")}</Link>}
      <Menu label={`${who}, ${ticket.subject}`}>
        {status === TicketStatus.ACTIVE && !serves && !own && <MenuItem label={t("takeOver")} onSelect={() => void run(takeOver)} />}
        {status !== TicketStatus.RESOLVED && <MenuItem label={t("transferTicket")} onSelect={() => onTransfer(ticket)} />}
        {status !== TicketStatus.RESOLVED && <MenuItem label={t("resolveTicket")} sure={t("sureResolve")} onSelect={() => void run(() => helpDesks.resolve(id))} />}
        {status === TicketStatus.RESOLVED && <MenuItem label={t("reopenTicket")} onSelect={() => void run(() => helpDesks.reopen(id))} />}
      </Menu>
    </div>
  );
}
