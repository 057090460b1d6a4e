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
import { confirm } from "../ui/Confirm.js";
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
  const opens = Number(ticket.opensAtMs);
  return (
    <section className="ticket-bar" aria-label={t("ticketState")} data-testid="ticket-bar">
      <div className="ticket-state">
        <div role="status">
          <p>{stateText(client, ticket, t)}</p>
          {customer && waits && opens > now && <p>{t("ticketDeskOpens", { when: comes(opens, getLocale(), now) })}</p>}
        </div>
        {customer && waits && c.announcement && <p className="ticket-notice" dir="auto">{c.announcement}</p>}
        {ticket.status === TicketStatus.RESOLVED && ticket.rating > 0 && <p className="muted" dir="auto">{ratingText(ticket, customer, t)}</p>}
        {error && <p className="error" role="alert">{error}</p>}
      </div>
      <div className="buttons">
        {customer ? <CustomerActions ticket={ticket} run={run} now={now} /> : desk?.isAgent && <AgentActions ticket={ticket} run={run} now={now} />}
        {desk?.isAgent && !customer && <Link className="button" href={path.desk(desk.id)} aria-label={`${t("helpDesk")}: ${desk.name}`}>{t("helpDesk")}</Link>}
      </div>
    </section>
  );
}

function ratingText({ rating, comment }: Ticket, customer: boolean, t: Translate): string {
  if (customer) return t("youRated", { n: rating });
  return comment ? t("ticketRatedComment", { n: rating, comment }) : t("ticketRated", { n: rating });
}

function stateText(client: Client, ticket: Ticket, t: Translate): string {
  const { status, position, agent } = ticket;
  if (status === TicketStatus.RESOLVED) return t("ticketEnded");
  if (status === TicketStatus.ACTIVE) return agent === client.me ? t("ticketServedByYou") : t("ticketServedBy", { who: nameOf(client, agent) });
  if (ticket.customer !== client.me || position === 0) return t("ticketWaitsHere");
  return position >= lastPosition ? t("ticketNumberMore") : t("ticketNumber", { n: position });
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
  const label = t("resolveTicket");
  const click = async () => {
    if (await confirm({ label, question: t("sureResolve") })) await run(() => client.helpDesks.resolve(ticket.id));
  };
  return <button onClick={() => void click()}>{label}</button>;
}

function Reopen({ ticket, run, now }: ActionProps) {
  const client = useClient();
  const t = useText();
  if (now - Number(ticket.resolvedMs) > reopenWithinMs) return null;
  return <button onClick={() => void run(() => client.helpDesks.reopen(ticket.id))}>{t("reopenTicket")}</button>;
}
