// @vitest-environment happy-dom
import { create } from "@bufbuild/protobuf";
import { act, createElement, useLayoutEffect, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { HelpDeskSchema, TicketSchema, type Ticket } from "../../src/gen/rialto/chat/v1/helpdesk_pb.js";
import { TicketStatus } from "../../src/gen/rialto/chat/v1/message_pb.js";
import { HelpDesks } from "../../src/helpDesks.js";
import { RialtoProvider, useAgentWork, useHelpDesks, useTicket, useTickets } from "../../src/react/index.js";
import { FakeClient } from "./fakeClient.js";

/** A client of user 7, with a server of one desk and one ticket. */
class DeskClient extends FakeClient {
  readonly me = "7";
  fails = false;
  isAgent = false;
  /** What a desk's agent reads, by status. */
  lists: Partial<Record<TicketStatus, readonly Ticket[]>> = {};
  /** What listens to changes of tickets. */
  readonly told = new Set<(t: Ticket) => void>();
  readonly helpDesks = new HelpDesks({
    me: () => "7",
    api: () => new Proxy({}, { get: (_, name: string) => async (q: { status?: TicketStatus }) => this.answer(name, q) }) as never,
    readConversation: async () => {},
    onChange: () => void this.set({}),
  });

  on(_: "ticket", f: (t: Ticket) => void): () => void {
    this.told.add(f);
    return () => void this.told.delete(f);
  }

  /** The stream says that a ticket changed. */
  async tell(t: Ticket): Promise<void> {
    this.helpDesks.changed(t);
    for (const f of this.told) f(t);
    await this.frame();
  }

  private answer(name: string, { status = TicketStatus.UNSPECIFIED }: { status?: TicketStatus }): unknown {
    if (this.fails) throw new Error("not now");
    if (name === "listHelpDesks") return { desks: [create(HelpDeskSchema, { id: "1", name: "Support", isAgent: this.isAgent })] };
    if (this.isAgent) return { tickets: this.lists[status] ?? [], next: "" };
    return name === "getTicket" ? ticket("3") : { tickets: [ticket("3")], next: "more" };
  }
}

const ticket = (version: string, status = TicketStatus.WAITING) => create(TicketSchema, { id: "9", desk: "1", customer: "7", subject: "broken", version, status });

let client: DeskClient;
let root: Root;

beforeEach(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  client = new DeskClient();
  root = createRoot(document.createElement("div"));
});
afterEach(() => act(() => root.unmount()));

async function render<T>(hook: () => T): Promise<() => T> {
  let last: T;
  function Probe(): ReactNode {
    const value = hook();
    useLayoutEffect(() => void (last = value));
    return null;
  }
  await act(async () => root.render(createElement(RialtoProvider, { client: client.asClient() }, createElement(Probe))));
  return () => last;
}

test("desks and a conversation's ticket are read once the client is online, and follow the stream", async () => {
  const shown = await render(() => [useHelpDesks().map((d) => d.name).join(), useTicket("9")?.status]);
  expect(shown()).toEqual(["", undefined]);
  await act(() => client.set({ connection: "online", conversations: [client.view("9", { ticket: true })] }));
  await act(() => client.frame());
  expect(shown()).toEqual(["Support", TicketStatus.WAITING]);
  await act(async () => client.helpDesks.changed(ticket("4", TicketStatus.ACTIVE)));
  await act(() => client.frame());
  expect(shown()).toEqual(["Support", TicketStatus.ACTIVE]);
});

test("a list of tickets is current while it is shown, and says why it could not be read", async () => {
  client.fails = true;
  const shown = await render(() => useTickets({ desk: "1", status: TicketStatus.WAITING }));
  expect([shown().loading, shown().tickets.length]).toEqual([true, 0]);
  await act(() => client.set({ connection: "online" }));
  await act(() => client.frame());
  expect([shown().loading, String(shown().error)]).toEqual([false, "Error: not now"]);
  client.fails = false;
  await act(() => shown().loadMore()); // reads the first page
  await act(() => client.frame());
  expect([shown().tickets.map((t) => t.id), shown().hasMore, shown().error]).toEqual([["9"], true, undefined]);
  await act(async () => client.helpDesks.changed(ticket("4", TicketStatus.ACTIVE)));
  await act(() => client.frame());
  expect(shown().tickets).toEqual([]);
});

test("what waits for an agent is counted from the tickets and their unread messages", async () => {
  const of = (id: string, fields: Omit<Partial<Ticket>, "$typeName" | "$unknown">) => create(TicketSchema, { id, desk: "1", customer: "3", version: "1", status: TicketStatus.WAITING, ...fields });
  const served = { status: TicketStatus.ACTIVE, agent: "7" };
  client.lists = { [TicketStatus.WAITING]: [of("10", {}), of("11", { customer: "7" })], [TicketStatus.ACTIVE]: [of("12", served), of("13", served)] };
  const shown = await render(() => useAgentWork());
  await act(() => client.set({ connection: "online", conversations: [client.view("12", { ticket: true, lastCounted: 2, readCounted: 1 }), client.view("13", { ticket: true })] }));
  expect(shown()).toEqual([]);

  client.isAgent = true; // the first event of the desk's tickets tells it
  await act(() => client.tell(of("14", {})));
  await act(() => client.frame());
  await act(() => client.frame());
  expect(shown()).toEqual([{ desk: "1", waiting: 1, unread: 1, hasMore: false }]); // not one's own ticket, and not what the list did not have
  await act(() => client.tell(of("15", { position: 3 })));
  expect(shown()).toEqual([{ desk: "1", waiting: 2, unread: 1, hasMore: false }]);
  await act(() => client.tell(of("15", { ...served, version: "2" })));
  await act(() => client.set({ conversations: [client.view("12", { ticket: true }), client.view("13", { ticket: true }), client.view("15", { ticket: true, lastCounted: 1 })] }));
  expect(shown()).toEqual([{ desk: "1", waiting: 1, unread: 1, hasMore: false }]);
});
