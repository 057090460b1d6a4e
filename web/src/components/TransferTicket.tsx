import type { Ticket } from "@rialto-im/client";
import { useEffect } from "react";
import { useAction } from "../action.js";
import { useClient } from "../client.js";
import { useText } from "../i18n.js";
import { nameOf } from "../names.js";
import { Dialog } from "../ui/Dialog.js";
import { Avatar, UserAvatar } from "./Avatar.js";
import { DeskState } from "./HelpDeskList.js";

/** Chooses who gets a ticket: another agent of its desk, or the queue of another desk. */
export function TransferTicket({ ticket, onClose }: { ticket: Ticket; onClose: () => void }) {
  const client = useClient();
  const t = useText();
  const { run, busy, error } = useAction();
  const desks = client.helpDesks.desks();
  const desk = desks.find((d) => d.id === ticket.desk);
  const agents = (desk?.agents ?? []).filter((a) => a !== ticket.agent && a !== ticket.customer);
  const others = desks.filter((d) => d.id !== ticket.desk && !d.closed);
  const all = agents.join(",");
  useEffect(() => {
    if (all) client.readPresence(all.split(",")).catch(() => {}); // it is shown where it is known
  }, [client, all]);
  const give = (to: { agent: string } | { desk: string }) => void run(() => client.helpDesks.transfer(ticket.id, to).then(onClose));
  return (
    <Dialog title={t("transferTo")} onClose={onClose}>
      {error && <p className="error" role="alert">{error}</p>}
      {agents.length + others.length === 0 && <p className="empty">{t("noTransfer")}</p>}
      {agents.length > 0 && (
        <>
          <h3 className="transfer-title">{t("transferAgents", { desk: desk?.name ?? "" })}</h3>
          <ul className="transfer">
            {agents.map((a) => <li key={a}><button className="row" disabled={busy} onClick={() => give({ agent: a })}><UserAvatar user={a} size={32} presence /><bdi className="name">{nameOf(client, a, t)}</bdi></button></li>)}
          </ul>
        </>
      )}
      {others.length > 0 && (
        <>
          <h3 className="transfer-title">{t("transferDesks")}</h3>
          <ul className="transfer">
            {others.map((d) => (
              <li key={d.id}>
                <button className="row" disabled={busy} onClick={() => give({ desk: d.id })}><Avatar id={d.id} name={d.name} size={32} /><span className="person-name"><bdi className="name">{d.name}</bdi><small><DeskState desk={d} /></small></span></button>
              </li>
            ))}
          </ul>
        </>
      )}
    </Dialog>
  );
}
