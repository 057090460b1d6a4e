import { TicketStatus, type Client, type ConversationView, type Ticket } from "@rialto-im/client";
import { useTicket } from "@rialto-im/client/react";
import { useState } from "react";
import { Link } from "wouter";
import { useAction, type RunAction } from "../action.js";
import { useClient } from "../client.js";
import { comes } from "../format.js";
import { getLocale, useText, type Translate } from "../i18n.js";
import { nameOf } from "../names.js";
import { useNow } from "../now.js";
import { path } from "../routes.js";
import { Confirm } from "../ui/Confirm.js";
import "./helpDesk.css";
import { RateTicket } from "./RateTicket.js";
import { TransferTicket } from "./TransferTicket.js";
import { useDesks } from "./useDesks.js";

/** For so long after its end a ticket can be reopened. */
const reopenWithinMs = 7 * 86_400_000;
const lastPosition = 1000;

/** Above the messages of a ticket: its state, and what one can do with it. */
export function TicketBar({ c }: { c: ConversationView }) {
  const client = useClient();
  const t = useText();
  const now = useNow();
  const desks = useDesks();
  const ticket = useTicket(c.id);
  const { run, error } = useAction();
  if (!ticket) return null;
  const desk = desks.find((d) => d.id === ticket.desk);
  const customer = ticket.customer === client.me;
  const waits = ticket.status === TicketStatus.WAITING;
  return (
    <section className="ticket-bar" aria-label={t("ticketState")} data-testid="ticket-bar">
      <div className="ticket-state">
        <p role="status">{stateText(client, ticket, t, now)}</p>
        {customer && waits && c.announcement && <p className="ticket-notice" dir="auto">{c.announcement}</p>}
        {ticket.rating > 0 && <p className="muted" dir="auto">{customer ? t("youRated", { n: ticket.rating }) : ticket.comment ? t("ticketRatedComment", { n: ticket.rating, comment: ticket.comment }) : t("ticketRated", { n: ticket.rating })}</p>}
        {error && <p className="error" role="alert">{error}</p>}
      </div>
      <div className="buttons">
        {customer ? <CustomerActions ticket={ticket} run={run} now={now} /> : desk?.isAgent && <AgentActions ticket={ticket} run={run} now={now} />}
        {desk?.isAgent && !customer && <Link className="button" href={path.desk(desk.id)} aria-label={t("toDesk", { desk: desk.name })}><bdi>{desk.name}</bdi></Link>}
      </div>
    </section>
  );
}

function stateText(client: Client, ticket: Ticket, t: Translate, now: number): string {
  const { status, position, opensAtMs, agent } = ticket;
  if (status === TicketStatus.RESOLVED) return t("ticketEnded");
  if (status === TicketStatus.ACTIVE) return agent === client.me ? t("ticketServedByYou") : t("ticketServedBy", { who: nameOf(client, agent) });
  if (ticket.customer !== client.me || position === 0) return t("ticketWaitsHere");
  const opens = Number(opensAtMs) > now ? ` ${t("ticketDeskOpens", { when: comes(Number(opensAtMs), getLocale(), now) })}` : "";
  return (position >= lastPosition ? t("ticketNumberMore") : t("ticketNumber", { n: position })) + opens;
}

interface ActionProps {
  ticket: Ticket;
  run: RunAction;
  now: number;
}

function CustomerActions({ ticket, run, now }: ActionProps) {
  const t = useText();
  const [rating, setRating] = useState(false);
  if (ticket.status !== TicketStatus.RESOLVED) return <Resolve ticket={ticket} run={run} />;
  return (
    <>
      <button className={ticket.rating > 0 ? "" : "primary small"} onClick={() => setRating(true)}>{t(ticket.rating > 0 ? "rateAgain" : "rateTicket")}</button>
      <Reopen ticket={ticket} run={run} now={now} />
      {rating && <RateTicket ticket={ticket} onClose={() => setRating(false)} />}
    </>
  );
}

function AgentActions({ ticket, run, now }: ActionProps) {
  const client = useClient();
  const t = useText();
  const [transferring, setTransferring] = useState(false);
  if (ticket.status === TicketStatus.RESOLVED) return <Reopen ticket={ticket} run={run} now={now} />;
  return (
    <>
      {ticket.status === TicketStatus.WAITING && <button className="primary small" onClick={() => void run(() => client.helpDesks.takeTicket({ ticket: ticket.id }))}>{t("takeTicket")}</button>}
      <button onClick={() => setTransferring(true)}>{t("transferTicket")}</button>
      <Resolve ticket={ticket} run={run} />
      {transferring && <TransferTicket ticket={ticket} onClose={() => setTransferring(false)} />}
    </>
  );
}

function Resolve({ ticket, run }: { ticket: Ticket; run: RunAction }) {
  const client = useClient();
  const t = useText();
  return <Confirm label={t("resolveTicket")} question={t("sureResolve")} onYes={() => void run(() => client.helpDesks.resolve(ticket.id))} />;
}

function Reopen({ ticket, run, now }: ActionProps) {
  const client = useClient();
  const t = useText();
  if (now - Number(ticket.resolvedMs) > reopenWithinMs) return null;
  return <button onClick={() => void run(() => client.helpDesks.reopen(ticket.id))}>{t("reopenTicket")}</button>;
}
