import { Availability, TicketStatus, type Client, type Ticket } from "@rialto-im/client";
import { beforeEach, expect, test } from "vitest";
import { translate } from "../src/i18n.js";
import { DeskNotifier } from "../src/notifications/deskNotifier.js";

const { WAITING, ACTIVE } = TicketStatus;

let log: string[];
let opened: string[];
let clicks: Map<string, () => void>;
let seen: boolean;
let choices: { on: boolean; preview: boolean; sound: boolean; push: boolean };
let tickets: Map<string, Ticket>;
let desks: { id: string; name: string; isAgent: boolean }[];
let client: { leading: boolean; catchingUp: boolean; availability: Availability };
let listeners: Map<string, (arg: unknown) => void>;
let notifier: DeskNotifier;

beforeEach(() => {
  [log, opened, clicks] = [[], [], new Map()];
  seen = false;
  choices = { on: true, preview: true, sound: true, push: false };
  tickets = new Map();
  desks = [{ id: "5", name: "Support", isAgent: true }, { id: "6", name: "Billing", isAgent: true }];
  client = { leading: true, catchingUp: false, availability: Availability.UNSPECIFIED };
  listeners = new Map();
  const fake = {
    me: "1",
    get leading() {
      return client.leading;
    },
    get catchingUp() {
      return client.catchingUp;
    },
    on: (event: string, f: (arg: unknown) => void) => (listeners.set(event, f), () => listeners.delete(event)),
    subscribe: (f: () => void) => (listeners.set("change", f), () => listeners.delete("change")),
    settings: () => ({ availability: client.availability }),
    helpDesks: { ticket: (id: string) => tickets.get(id), desks: () => desks },
  };
  notifier = new DeskNotifier({
    client: fake as unknown as Client,
    choices: () => choices,
    sees: async () => seen,
    show: (title, { body = "", tag = "" }) => {
      log.push(`${title}: ${body}`);
      return {
        close: () => void log.push(`closed: ${body}`),
        set onclick(f: () => void) {
          clicks.set(tag, f);
        },
      } as unknown as Notification;
    },
    playTone: () => void log.push("tone"),
    text: (key, values) => translate("en", key, values),
    onOpen: (d) => opened.push(d),
  });
});

/** The client changed: waits until the notifier has acted on it. */
async function change(): Promise<void> {
  listeners.get("change")?.(undefined);
  await new Promise((resolve) => setTimeout(resolve));
}

async function tell(id: string, subject: string, status = WAITING, desk = "5", customer = "9"): Promise<void> {
  const t = { id, subject, status, desk, customer } as Ticket;
  tickets.set(id, t);
  listeners.get("ticket")?.(t);
  await change();
}

test("a ticket that waits is shown once; a click leads to its desk", async () => {
  await tell("1", "it is broken");
  await tell("1", "it is broken");
  await tell("2", "an invoice", WAITING, "6");
  expect(log).toEqual(["New ticket · Support: it is broken", "tone", "New ticket · Billing: an invoice", "tone"]);
  clicks.get("rialto-1-desk-5")!();
  expect(opened).toEqual(["5"]);
  expect(log.at(-1)).toBe("closed: it is broken");
});

test("a desk has one notification, which goes when its tickets wait no more", async () => {
  await tell("1", "one");
  await tell("2", "two");
  log = [];
  await tell("2", "two", ACTIVE);
  expect(log).toEqual(["New ticket · Support: one"]);
  await tell("1", "one", WAITING, "6"); // moved to another desk, whose agent one is as well
  expect(log).toEqual(["New ticket · Support: one", "closed: one", "New ticket · Billing: one", "tone"]);
  log = [];
  await tell("2", "two"); // back in the queue
  expect(log).toEqual(["New ticket · Support: two", "tone"]);
});

test("of what happened while the device was away, only what still waits is shown", async () => {
  client.catchingUp = true;
  await tell("1", "taken");
  await tell("2", "waits");
  await tell("1", "taken", ACTIVE);
  expect(log).toEqual([]);
  client.catchingUp = false;
  await change();
  expect(log).toEqual(["New ticket · Support: waits", "tone"]);
});

test("a ticket waits for the name of its desk", async () => {
  const known = desks;
  desks = [];
  await tell("1", "one");
  expect(log).toEqual([]);
  desks = known;
  await change();
  expect(log).toEqual(["New ticket · Support: one", "tone"]);
});

test("nothing is shown of one's own ticket, to who sees the app, wants no notifications or is not to be disturbed, or in a second window", async () => {
  await tell("1", "mine", WAITING, "5", "1");
  seen = true;
  await tell("2", "seen");
  seen = false;
  choices.on = false;
  await tell("3", "off");
  choices.on = true;
  client.availability = Availability.DO_NOT_DISTURB;
  await tell("4", "quiet");
  client.availability = Availability.UNSPECIFIED;
  client.leading = false;
  await tell("5", "second window");
  client.leading = true;
  await change();
  expect(log).toEqual([]);
  choices.preview = false;
  await tell("6", "secret");
  expect(log).toEqual(["Rialto: New ticket", "tone"]);
});

test("nothing is shown after the end", async () => {
  await tell("1", "one");
  const t = { id: "2", subject: "two", status: WAITING, desk: "5", customer: "9" } as Ticket;
  tickets.set("2", t);
  listeners.get("ticket")!(t);
  listeners.get("change")!(undefined);
  notifier.stop(); // while it asks who sees the desk
  await change();
  expect(log).toEqual(["New ticket · Support: one", "tone", "closed: one"]);
});
