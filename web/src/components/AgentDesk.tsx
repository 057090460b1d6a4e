import { TicketStatus, type HelpDesk, type Ticket } from "@rialto-im/client";
import { useTickets, type Tickets } from "@rialto-im/client/react";
import { useState } from "react";
import { useAction, type RunAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { Tabs } from "../ui/Tabs.js";
import { DeskStats } from "./DeskStats.js";
import { AgentTicketRow, TicketRows } from "./TicketRows.js";
import { TransferTicket } from "./TransferTicket.js";

interface Shared {
  desk: HelpDesk;
  run: RunAction;
  onOpen: (conversation: string) => void;
  onTransfer: (ticket: Ticket) => void;
}

/** What agents see of their desk: the queue, the active and the resolved tickets, and the figures. */
export function AgentDesk({ desk, onOpen }: { desk: HelpDesk; onOpen: (conversation: string) => void }) {
  const client = useClient();
  const t = useText();
  const { run, busy, error } = useAction();
  const [transferred, setTransferred] = useState<Ticket>();
  const queue = useTickets({ desk: desk.id, status: TicketStatus.WAITING });
  const shared: Shared = { desk, run, onOpen, onTransfer: setTransferred };
  const takeNext = () => void run(async () => onOpen((await client.helpDesks.takeTicket({ desk: desk.id })).id));
  return (
    <div className="stack agent-desk">
      {error && <p className="error" role="alert">{error}</p>}
      <button className="primary small" disabled={busy} onClick={takeNext}>{t("takeNext")}</button>
      <Tabs
        label={desk.name}
        tabs={[
          { id: "queue", label: `${t("ticketsQueue")} (${count(queue)})`, content: <TicketRows list={queue} empty={t("queueEmpty")} render={(ticket, n) => <AgentTicketRow ticket={ticket} position={n + 1} {...shared} />} /> },
          { id: "active", label: t("ticketsActive"), content: <Served key="active" shared={shared} status={TicketStatus.ACTIVE} empty={t("noActiveTickets")} />, fresh: true },
          { id: "resolved", label: t("ticketsResolved"), content: <Served key="resolved" shared={shared} status={TicketStatus.RESOLVED} empty={t("noResolvedTickets")} />, fresh: true },
          { id: "figures", label: t("ticketsFigures"), content: <DeskStats desk={desk} />, fresh: true },
        ]}
      />
      {transferred && <TransferTicket ticket={transferred} onClose={() => setTransferred(undefined)} />}
    </div>
  );
}

function count({ tickets, hasMore }: Tickets): string {
  return hasMore ? `${tickets.length}+` : String(tickets.length);
}

/** Tickets that agents serve or served: all, or only one's own. */
function Served({ shared, status, empty }: { shared: Shared; status: TicketStatus; empty: string }) {
  const t = useText();
  const [mine, setMine] = useState(false);
  const list = useTickets({ desk: shared.desk.id, status, mine });
  return (
    <div className="stack">
      <label className="check"><input type="checkbox" checked={mine} onChange={(e) => setMine(e.target.checked)} />{t("onlyMine")}</label>
      <TicketRows list={list} empty={empty} render={(ticket) => <AgentTicketRow ticket={ticket} {...shared} />} />
    </div>
  );
}
