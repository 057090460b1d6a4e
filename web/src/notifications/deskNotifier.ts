import { Availability, TicketStatus, type Client, type Ticket } from "@rialto-im/client";
import type { NotifierDeps } from "./notifier.js";

export interface DeskNotifierDeps extends Pick<NotifierDeps, "client" | "choices" | "sees" | "show" | "text"> {
  /** Plays the tone where the user wants it. */
  playTone: () => void;
  onOpen: (desk: string) => void;
}

/** A desk's notification, and the waiting tickets that it stands for, the newest last. */
interface Entry {
  tickets: string[];
  /** The ticket that it shows. */
  shown: string;
  notification: ReturnType<NotifierDeps["show"]>;
}

/** Bounds the tickets of a desk's notification. */
const maxTickets = 50;

/**
 * DeskNotifier shows to agents that a ticket waits in a desk's queue: one notification for each desk. Of several windows of the browser, the
 * leading one does. A notification goes when its tickets wait no more, whoever took them.
 */
export class DeskNotifier {
  private readonly entries = new Map<string, Entry>();
  /** Waiting tickets that were handled, with their desks. */
  private readonly waiting = new Map<string, string>();
  /** Tickets that entered a queue and were not handled yet. */
  private readonly unhandled = new Set<string>();
  private readonly stops: (() => void)[];

  constructor(private readonly deps: DeskNotifierDeps) {
    const { client } = deps;
    this.stops = [client.on("ticket", (t) => this.changed(t)), client.subscribe(() => this.update())];
  }

  /** Closes all notifications: nobody would update them any more. */
  stop(): void {
    for (const stop of this.stops) stop();
    this.waiting.clear();
    this.clear();
  }

  /** Closes all notifications. */
  clear(): void {
    for (const e of this.entries.values()) e.notification.close();
    this.entries.clear();
  }

  private changed(t: Ticket): void {
    if (t.status === TicketStatus.WAITING && t.customer !== this.deps.client.me && this.waiting.get(t.id) !== t.desk) this.unhandled.add(t.id);
  }

  /** Looks at what came into the queues, once all is there that happened while the device was away, and drops what waits no more. */
  private update(): void {
    const { client } = this.deps;
    for (const [ticket, desk] of this.waiting) if (!waitsIn(client, ticket, desk)) this.waiting.delete(ticket);
    for (const [desk, entry] of this.entries) this.drop(desk, entry);
    if (client.catchingUp) return;
    for (const id of this.unhandled) {
      const t = client.helpDesks.ticket(id);
      const desk = t && client.helpDesks.desks().find((d) => d.id === t.desk);
      if (t && !desk?.isAgent) continue; // the desks are being read
      this.unhandled.delete(id);
      if (t && waitsIn(client, id, t.desk)) void this.notify(t, desk!.name);
    }
  }

  private async notify(t: Ticket, name: string): Promise<void> {
    const { client, choices, sees, playTone } = this.deps;
    this.waiting.set(t.id, t.desk);
    if (!choices().on || !client.leading || client.settings()?.availability === Availability.DO_NOT_DISTURB) return;
    if ((await sees(t.desk).catch(() => false)) || this.waiting.get(t.id) !== t.desk || !waitsIn(client, t.id, t.desk)) return;
    const before = this.entries.get(t.desk)?.tickets ?? [];
    this.show(t.desk, name, [...before, t.id].slice(-maxTickets));
    playTone();
  }

  private drop(desk: string, entry: Entry): void {
    const { client } = this.deps;
    entry.tickets = entry.tickets.filter((id) => waitsIn(client, id, desk));
    const last = entry.tickets.at(-1);
    if (last === undefined) this.close(desk, entry);
    else if (last !== entry.shown) this.show(desk, client.helpDesks.desks().find((d) => d.id === desk)?.name ?? "", entry.tickets);
  }

  /** Shows the last ticket of a desk. The tag makes it replace the one before. */
  private show(desk: string, name: string, tickets: string[]): void {
    const { client, choices, show, text, onOpen } = this.deps;
    const shown = tickets.at(-1)!;
    const subject = client.helpDesks.ticket(shown)?.subject || text("noSubject");
    const [title, body] = choices().preview ? [text("newTicketAt", { desk: name }), subject] : ["Rialto", text("newTicket")];
    const notification = show(title, { body, tag: `rialto-${client.me}-desk-${desk}`, icon: "/icon.svg", silent: true });
    const entry = { tickets, shown, notification };
    this.entries.set(desk, entry);
    notification.onclick = () => {
      this.close(desk, entry);
      onOpen(desk);
    };
  }

  private close(desk: string, entry: Entry): void {
    entry.notification.close();
    this.entries.delete(desk);
  }
}

function waitsIn(client: Client, id: string, desk: string): boolean {
  const t = client.helpDesks.ticket(id);
  return t !== undefined && t.status === TicketStatus.WAITING && t.desk === desk;
}
