import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { TicketSchema, type Ticket } from "../../src/gen/rialto/chat/v1/helpdesk_pb.js";
import { TicketStatus } from "../../src/gen/rialto/chat/v1/message_pb.js";
import { HelpDesks } from "../../src/helpDesks.js";

const { WAITING, ACTIVE, RESOLVED } = TicketStatus;

function ticket(id: number, version: number, fields: Partial<Ticket> = {}): Ticket {
  return create(TicketSchema, { id: String(id), desk: "1", customer: "7", status: WAITING, openedMs: BigInt(id), version: String(version), ...fields } as never);
}

function made() {
  let me = "7";
  let changes = 0;
  const calls: unknown[] = [];
  const answers: { current: unknown; held?: Promise<void> } = { current: undefined };
  const api = new Proxy({}, {
    get: (_, name: string) => async (request: object) => {
      calls.push([name, request]);
      const answer = answers.current;
      await answers.held;
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  const desks = new HelpDesks({ me: () => me, api: () => api as never, readConversation: async (id) => void calls.push(["read", id]), onChange: () => changes++ });
  return { desks, calls, changes: () => changes, answer: (a: unknown, held?: Promise<void>) => Object.assign(answers, { current: a, held }), login: (user: string) => (me = user) };
}

const ids = (list: { tickets: readonly Ticket[] }) => list.tickets.map((t) => t.id).join(" ");

test("the state with the higher version wins, and of the same version the later one", async () => {
  const { desks, answer, changes, login } = made();
  desks.changed(ticket(5, 9, { position: 2 }));
  desks.changed(ticket(5, 10, { status: ACTIVE }));
  desks.changed(ticket(5, 9, { position: 1 }));
  expect(desks.ticket("5")?.status).toBe(ACTIVE);
  desks.changed(ticket(6, 3, { position: 2 }));
  desks.changed(ticket(6, 3, { position: 1 }));
  expect(desks.ticket("6")?.position).toBe(1);
  answer(ticket(5, 8));
  expect((await desks.loadTicket("5")).version).toBe("10"); // the answer was older than the stream
  expect(changes()).toBe(4);
  login("8");
  expect(desks.ticket("5")).toBeUndefined();
});

test("only so many tickets are kept: those that changed last", () => {
  const { desks } = made();
  for (let id = 1; id <= 201; id++) desks.changed(ticket(id, 1));
  expect([desks.ticket("1"), desks.ticket("2")?.id, desks.ticket("201")?.id]).toEqual([undefined, "2", "201"]);
});

test("a ticket that is wanted is read once", async () => {
  const { desks, answer, calls } = made();
  answer(new Error("no_ticket"));
  desks.want("5");
  desks.want("5");
  desks.changed(ticket(6, 1));
  desks.want("6");
  expect(calls).toEqual([["getTicket", { ticket: "5" }]]);
});

test("whoever opens a ticket or takes it knows its conversation then", async () => {
  const { desks, answer, calls } = made();
  answer(ticket(5, 1));
  await desks.open("1", "broken");
  answer(ticket(6, 2, { agent: "7" }));
  await desks.takeTicket({ desk: "1" });
  answer(ticket(6, 3, { agent: "8" }));
  await desks.transfer("6", { agent: "8" });
  expect(calls).toEqual([
    ["openTicket", { desk: "1", subject: "broken" }], ["read", "5"], ["takeTicket", { desk: "1" }], ["read", "6"], ["transferTicket", { ticket: "6", agent: "8" }],
  ]);
  expect(desks.ticket("6")?.agent).toBe("8");
});

test("a queue follows the stream", async () => {
  const { desks, answer, calls } = made();
  const { list, watch } = desks.tickets({ desk: "1", status: WAITING });
  const unwatch = watch();
  answer({ tickets: [ticket(1, 1), ticket(2, 1), ticket(3, 1)], next: "more" });
  await list.refresh();
  expect(calls).toEqual([["listTickets", { desk: "1", status: WAITING, mine: false, page: "", limit: 50 }]]);
  desks.changed(ticket(2, 2, { status: ACTIVE })); // taken
  expect(ids(list)).toBe("1 3");
  desks.changed(ticket(9, 1, { position: 7 })); // on a page that was not read
  desks.changed(ticket(8, 5, { position: 1 })); // reopened: at the head
  desks.changed(ticket(7, 1, { desk: "2", position: 1 }));
  expect(ids(list)).toBe("8 1 3");
  answer({ tickets: [ticket(3, 1), ticket(4, 1)], next: "" });
  await list.more();
  expect([ids(list), list.hasMore]).toEqual(["8 1 3 4", false]);
  desks.changed(ticket(9, 1, { position: 5 }));
  expect(ids(list)).toBe("8 1 3 4 9");
  unwatch();
  desks.changed(ticket(8, 6, { status: RESOLVED }));
  expect(ids(list)).toBe("8 1 3 4 9");
});

test("what changes while a page is read is not undone by the page", async () => {
  const { desks, answer } = made();
  const { list, watch } = desks.tickets({ desk: "1", status: WAITING });
  watch();
  let send = () => {};
  answer({ tickets: [ticket(1, 1), ticket(2, 1)], next: "" }, new Promise<void>((resolve) => (send = resolve)));
  const read = list.refresh();
  await Promise.resolve();
  desks.changed(ticket(1, 2, { status: ACTIVE }));
  desks.changed(ticket(3, 1, { position: 2 }));
  send();
  await read;
  expect(ids(list)).toBe("2 3");
});

test("active tickets: the last changed first, and only the agent's own", async () => {
  const { desks, answer } = made();
  const { list, watch } = desks.tickets({ desk: "1", status: ACTIVE, mine: true });
  watch();
  const active = (id: number, version: number, agent = "7") => ticket(id, version, { status: ACTIVE, agent, customer: "3" });
  answer({ tickets: [active(1, 1), active(2, 1)], next: "" });
  await list.refresh();
  desks.changed(active(2, 2));
  desks.changed(active(1, 1)); // again: nothing changed
  desks.changed(active(3, 1, "8"));
  expect(ids(list)).toBe("2 1");
  desks.changed(active(2, 3, "8")); // transferred
  expect(ids(list)).toBe("1");
});

test("a user's own tickets are in the order in which they were opened", async () => {
  const { desks, answer, calls } = made();
  const { list, watch } = desks.tickets();
  watch();
  answer({ tickets: [ticket(5, 1), ticket(2, 1)], next: "more" });
  await list.refresh();
  expect(calls[0]).toEqual(["listTickets", { desk: "0", status: TicketStatus.UNSPECIFIED, mine: false, page: "", limit: 50 }]);
  desks.changed(ticket(2, 2, { status: RESOLVED }));
  desks.changed(ticket(1, 2)); // on a later page
  desks.changed(ticket(6, 1, { customer: "3" }));
  desks.changed(ticket(7, 1));
  expect(ids(list)).toBe("7 5 2");
  expect(list.tickets[2]!.status).toBe(RESOLVED);
});

test("a list that grew by events for long is read again", async () => {
  const { desks, answer, calls } = made();
  const { list, watch } = desks.tickets({ desk: "1", status: RESOLVED });
  watch();
  answer({ tickets: [], next: "" });
  await list.refresh();
  for (let id = 1; id <= 501; id++) desks.changed(ticket(id, 1, { status: RESOLVED }));
  answer({ tickets: [ticket(501, 1, { status: RESOLVED })], next: "more" });
  await list.more(); // after the reading that the list began
  expect(calls.length).toBe(3);
});
