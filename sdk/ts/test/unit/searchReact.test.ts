// @vitest-environment happy-dom
import { create } from "@bufbuild/protobuf";
import { act, createElement, useLayoutEffect, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { RialtoError } from "../../src/errors.js";
import { HitKind, SearchResponseSchema, type SearchRequest } from "../../src/gen/rialto/search/v1/search_pb.js";
import type { Context } from "../../src/operations/context.js";
import { search } from "../../src/operations/search.js";
import { RialtoProvider, useSearch, type Search } from "../../src/react/index.js";
import type { SearchQuery } from "../../src/search.js";
import { FakeClient } from "./fakeClient.js";

/** A client whose server finds for each query one message with the query as its text. */
class SearchingClient extends FakeClient {
  me = "7";
  fails = false;
  readonly asked: string[] = [];

  constructor() {
    super();
    const searchApi = {
      search: async ({ query }: SearchRequest) => {
        this.asked.push(query);
        if (this.fails) throw new RialtoError("unavailable", "offline");
        return create(SearchResponseSchema, { groups: [{ kind: HitKind.MESSAGE, hits: [{ text: query, message: { conversation: "7", seq: 1n } }] }] });
      },
    };
    Object.assign(this, search({ services: { searchApi }, people: { take: () => {} }, snapshots: { touch: () => void this.set({}) } } as unknown as Context));
  }
}

let client: SearchingClient;
let root: Root;
let last: Search;

beforeEach(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  client = new SearchingClient();
  root = createRoot(document.createElement("div"));
});
afterEach(() => {
  act(() => root.unmount());
  vi.useRealTimers();
});

function Probe({ query }: { query: SearchQuery | undefined }): ReactNode {
  const value = useSearch(query);
  useLayoutEffect(() => void (last = value));
  return null;
}

const type = (text: string | undefined) => act(async () => root.render(createElement(RialtoProvider, { client: client.asClient() }, createElement(Probe, { query: text === undefined ? undefined : { text } }))));
const wait = async (ms: number) => {
  await act(() => vi.advanceTimersByTimeAsync(ms));
  await act(() => client.frame());
};
const shown = () => last.groups.flatMap((g) => g.hits.map((h) => h.text));

test("a query is sent a moment after the last key, and what was found stays until its answer", async () => {
  await act(() => client.set({ connection: "online" }));
  for (const text of ["a", "ab", "abc"]) {
    await type(text);
    await wait(100);
  }
  expect([client.asked, last.settled]).toEqual([[], false]);
  await wait(100);
  expect([client.asked, shown(), last.settled]).toEqual([["abc"], ["abc"], true]);
  await type("abcd");
  expect([shown(), last.settled]).toEqual([["abc"], false]);
  await act(() => last.now()); // Enter does not wait
  await act(() => client.frame());
  expect([shown(), last.settled]).toEqual([["abcd"], true]);
  await type(undefined);
  await wait(200);
  expect([shown(), last.query]).toEqual([[], undefined]);
});

test("nothing is sent without a connection, and the query is sent with the next one", async () => {
  await act(() => client.set({ connection: "offline" }));
  await type("abc");
  await wait(1_000);
  expect(client.asked).toEqual([]);
  client.fails = true;
  await act(() => client.set({ connection: "polling" }));
  await wait(200);
  expect([client.asked, last.error?.code, last.settled]).toEqual([["abc"], "unavailable", true]);
  client.fails = false;
  await act(() => last.now());
  await act(() => client.frame());
  expect([shown(), last.error]).toEqual([["abc"], undefined]);
});
