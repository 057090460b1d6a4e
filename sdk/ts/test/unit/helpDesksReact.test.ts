// @vitest-environment happy-dom
import { create } from "@bufbuild/protobuf";
import { act, createElement, useLayoutEffect, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { HelpDeskSchema, TicketSchema } from "../../src/gen/rialto/chat/v1/helpdesk_pb.js";
import { TicketStatus } from "../../src/gen/rialto/chat/v1/message_pb.js";
import { HelpDesks } from "../../src/helpDesks.js";
import { RialtoProvider, useHelpDesks, useTicket, useTickets } from "../../src/react/index.js";
import { FakeClient } from "./fakeClient.js";

/** A client of user 7, with a server of one desk and one ticket. */
class DeskClient extends FakeClient {
  readonly me = "7";
  fails = false;
  readonly helpDesks = new HelpDesks({
    me: () => "7",
    api: () => new Proxy({}, { get: (_, name: string) => async () => this.answer(name) }) as never,
    readConversation: async () => {},
    onChange: () => void this.set({}),
  });

  private answer(name: string): unknown {
    if (this.fails) throw new Error("not now");
    if (name === "listHelpDesks") return { desks: [create(HelpDeskSchema, { id: "1", name: "Support" })] };
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
