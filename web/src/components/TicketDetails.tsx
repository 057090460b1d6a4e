import { useTicket } from "@rialto-im/client/react";
import { moment, roughly } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { stateKey } from "./TicketRows.js";

/** What there is to know of a ticket, in the panel of its chat. */
export function TicketDetails({ conversation }: { conversation: string }) {
  const t = useText();
  const ticket = useTicket(conversation);
  if (!ticket) return null;
  const rows: [string, string][] = [
    [t("ticketAbout"), ticket.subject || t("noSubject")],
    [t("ticketState"), t(stateKey(ticket))],
    [t("ticketOpenedAt"), moment(Number(ticket.openedMs), getLocale())],
  ];
  if (ticket.resolvedMs > 0n) rows.push([t("ticketResolvedAt"), moment(Number(ticket.resolvedMs), getLocale())]);
  if (ticket.firstResponseMs > 0n) rows.push([t("statsResponse"), roughly(Number(ticket.firstResponseMs), t)]);
  return <dl className="ticket-details">{rows.map(([name, value]) => <div key={name}><dt>{name}</dt><dd dir="auto">{value}</dd></div>)}</dl>;
}
