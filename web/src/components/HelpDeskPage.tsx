import { TicketStatus, type HelpDesk } from "@rialto-im/client";
import { useTickets } from "@rialto-im/client/react";
import { useState, type FormEvent } from "react";
import { Link } from "wouter";
import { useAction } from "../action.js";
import { hoursRows, isOpen } from "../businessHours.js";
import { useClient } from "../client.js";
import { comes } from "../format.js";
import { getLocale, useText } from "../i18n.js";
import { useNow } from "../now.js";
import { path } from "../routes.js";
import { Page } from "../ui/Page.js";
import { AgentDesk } from "./AgentDesk.js";
import "./helpDesk.css";
import { DeskState } from "./HelpDeskList.js";
import { OwnTicketRow, TicketRows } from "./TicketRows.js";
import { useDesks } from "./useDesks.js";

/** A help desk: where customers open tickets, and agents serve them. */
export function HelpDeskPage({ id, onOpen }: { id: string; onOpen: (conversation: string) => void }) {
  const client = useClient();
  const t = useText();
  const desks = useDesks();
  const desk = desks.find((d) => d.id === id);
  return (
    <Page title={desk?.name ?? t("helpDesk")}>
      {!desk && <p className="empty" role="status">{t(client.helpDesks.loaded ? "noHelpDesk" : "loading")}</p>}
      {desk && (
        <>
          <div className="stack"><DeskState desk={desk} /><Hours desk={desk} /></div>
          {desk.isAgent ? <AgentDesk desk={desk} onOpen={onOpen} /> : <CustomerDesk desk={desk} onOpen={onOpen} />}
        </>
      )}
    </Page>
  );
}

/** The business hours of a week, which unfold. */
function Hours({ desk }: { desk: HelpDesk }) {
  const t = useText();
  if (desk.hours.length === 0) return null;
  return (
    <details className="desk-hours">
      <summary>{t("businessHours")}</summary>
      <dl>{hoursRows(desk.hours, getLocale(), t).map((r) => <div key={r.days}><dt>{r.days}</dt><dd>{r.hours}</dd></div>)}</dl>
      <small>{t("hoursZone", { zone: desk.timeZone || "UTC" })}</small>
    </details>
  );
}

function OpenTicket({ desk, onOpen }: { desk: HelpDesk; onOpen: (conversation: string) => void }) {
  const client = useClient();
  const t = useText();
  const now = useNow();
  const [subject, setSubject] = useState("");
  const { run, busy, error } = useAction();
  if (desk.closed) return <p className="muted">{t("openTicketClosed")}</p>;
  const submit = (e: FormEvent) => {
    e.preventDefault();
    if (!busy) void run(async () => onOpen((await client.helpDesks.open(desk.id, subject.trim())).id));
  };
  const away = !isOpen(desk, now) && desk.opensAtMs > 0n;
  return (
    <form className="stack" onSubmit={submit}>
      <p className="muted">{away ? t("openTicketAway", { when: comes(Number(desk.opensAtMs), getLocale(), now) }) : t("openTicketHint")}</p>
      <label>{t("ticketSubject")}<textarea rows={2} required maxLength={200} dir="auto" value={subject} onChange={(e) => setSubject(e.target.value)} /></label>
      {error && <p className="error" role="alert">{error}</p>}
      <button className="primary" disabled={busy || !subject.trim()}>{t("openTicket")}</button>
    </form>
  );
}

/** What customers see of a desk: the ticket that is open, or the form for a new one, and their tickets so far. */
function CustomerDesk({ desk, onOpen }: { desk: HelpDesk; onOpen: (conversation: string) => void }) {
  const t = useText();
  const list = useTickets();
  const tickets = list.tickets.filter((ticket) => ticket.desk === desk.id);
  const open = tickets.find((ticket) => ticket.status !== TicketStatus.RESOLVED);
  return (
    <>
      {open ? (
        <div className="stack">
          <p className="muted">{t("oneOpenTicket")}</p>
          <Link className="button primary continue" href={path.chat(open.id)}>{t("continueTicket")}</Link>
        </div>
      ) : (
        <OpenTicket desk={desk} onOpen={onOpen} />
      )}
      {(tickets.length > 0 || list.hasMore) && (
        <section className="stack" aria-label={t("yourTickets")}>
          <h3>{t("yourTickets")}</h3>
          <TicketRows list={{ ...list, tickets }} empty="" render={(ticket) => <OwnTicketRow ticket={ticket} />} />
        </section>
      )}
    </>
  );
}
