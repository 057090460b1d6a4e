import { Control_Action, TicketStatus, type Control } from "@rialto-im/client";
import type { Translate } from "./i18n.js";

type NameOf = (user: string) => string;

/** What a control entry of a ticket says. Entries without an actor are the help desk's. */
export function ticketText(c: Control, name: NameOf, t: Translate): string {
  const users = c.users.map(name);
  switch (c.action) {
    case Control_Action.CREATED:
      return t("ticketOpenedBy", { users, text: c.text });
    case Control_Action.JOINED:
      return t("ticketJoined", { users });
    case Control_Action.REMOVED:
      return t("ticketLeft", { users });
    case Control_Action.RENAMED:
      return t("ticketWithDesk", { text: c.text });
    case Control_Action.ANNOUNCED:
      return c.text ? t("ticketNotice", { text: c.text }) : t("ticketIsWaiting");
    case Control_Action.TICKET:
      return statusText(c, name, t);
    default:
      return "";
  }
}

/** What an entry says that gives a ticket a status. */
function statusText(c: Control, name: NameOf, t: Translate): string {
  const who = c.actor === "0" ? undefined : name(c.actor);
  const them = c.users.map((u) => (name(u) === t("you") ? t("youObject") : name(u)));
  switch (c.ticketStatus) {
    case TicketStatus.ACTIVE:
      if (who === undefined) return t("ticketAssigned", { users: them });
      return c.users.includes(c.actor) ? t("ticketTakenBy", { who }) : t("ticketTransferredBy", { who, users: them });
    case TicketStatus.RESOLVED:
      return who === undefined ? t("ticketIsResolved") : t("ticketResolvedBy", { who });
    default:
      return who === undefined ? t("ticketIsWaiting") : t("ticketQueuedBy", { who });
  }
}

/**
 * What the message list shows of a control entry of a ticket: nothing where the entry before has said it. before: the status until then, where
 * it is known. A rating gives a resolved ticket the same status once more.
 */
export function ticketLine(c: Control, name: NameOf, t: Translate, before: TicketStatus | undefined): string {
  const implied = c.action === Control_Action.JOINED || c.action === Control_Action.REMOVED || (c.action === Control_Action.ANNOUNCED && !c.text);
  if (implied) return "";
  if (c.action === Control_Action.TICKET && before === TicketStatus.RESOLVED && c.actor !== "0") {
    if (c.ticketStatus === TicketStatus.RESOLVED) return t("ticketRatedBy", { who: name(c.actor) });
    if (c.ticketStatus === TicketStatus.WAITING) return t("ticketReopenedBy", { who: name(c.actor) });
  }
  return ticketText(c, name, t);
}
