// @vitest-environment happy-dom
import { create } from "@bufbuild/protobuf";
import { act, createElement, useLayoutEffect, type ReactNode } from "react";
import { createRoot, type Root } from "react-dom/client";
import { afterEach, beforeEach, expect, test } from "vitest";
import { LinkPreviewSchema } from "../../src/gen/rialto/chat/v1/message_pb.js";
import { RialtoProvider, useBadge, useComposer, useConversation, useConversations, useMessages, useOnline, usePresence, useTyping, useUser, type Composer, type DraftStore, type Messages } from "../../src/react/index.js";
import { FakeClient } from "./fakeClient.js";

let client: FakeClient;
let root: Root;

beforeEach(() => {
  (globalThis as { IS_REACT_ACT_ENVIRONMENT?: boolean }).IS_REACT_ACT_ENVIRONMENT = true;
  client = new FakeClient();
  root = createRoot(document.createElement("div"));
});
afterEach(() => act(() => root.unmount()));

/** Renders a hook, and gives what it gave at each render. */
async function render<T>(hook: () => T): Promise<T[]> {
  const seen: T[] = [];
  function Probe(): ReactNode {
    const value = hook();
    useLayoutEffect(() => void seen.push(value));
    return null;
  }
  await act(async () => root.render(createElement(RialtoProvider, { client: client.asClient() }, createElement(Probe))));
  return seen;
}

test("a hook renders again for what it gives, and not for what others give", async () => {
  const seen = await render(useConversations);
  expect(seen.map((l) => l.length)).toEqual([0]);
  await act(() => client.set({ typing: ["22"] }));
  expect(seen).toHaveLength(1);
  await act(() => client.set({ conversations: [client.view("7", { lastSeq: 1 })] }));
  expect(seen.map((l) => l.length)).toEqual([0, 1]);
});

test("many changes are one rendering", async () => {
  const seen = await render(useBadge);
  await act(() => {
    for (let n = 1; n <= 50; n++) client.set({ badge: n });
    return client.frame();
  });
  expect(seen).toEqual([0, 50]);
});

test("users, presence, typing and the connection", async () => {
  const seen = await render(() => [useOnline(), useUser("22")?.displayName, usePresence("22")?.online, useTyping("7").length, useConversation("7")?.title]);
  await act(() => client.set({ connection: "polling", users: { 22: "Bob" }, online: ["22"], typing: ["22"], conversations: [client.view("7", { title: "Bob" })] }));
  expect(seen).toEqual([
    [false, undefined, undefined, 0, undefined],
    [true, "Bob", true, 1, "Bob"],
  ]);
});

test("messages: the conversation is opened, what nobody is shown is left out, and older ones are loaded until the beginning", async () => {
  client.set({ connection: "online", conversations: [client.view("7", { lastSeq: 5 })] });
  const seen: Messages[] = await render(() => useMessages("7"));
  expect(client.opened).toEqual(["7"]);
  expect([seen.at(-1)!.loading, seen.at(-1)!.hasOlder]).toEqual([true, false]);
  await act(() => client.set({ messages: [client.hidden(4), client.text(5, "five")] }));
  const now = () => seen.at(-1)!;
  expect([now().messages.map((m) => m.text), now().lastSeq, now().loading, now().hasOlder]).toEqual([["five"], 5, false, true]);
  client.olderPages = [[client.text(3, "three")], [client.text(2, "two")]];
  await act(() => Promise.all([now().loadOlder(), now().loadOlder()])); // the second does nothing
  expect([now().messages.map((m) => m.text), now().hasOlder]).toEqual([["three", "five"], true]);
  await act(() => now().loadOlder());
  expect([now().messages.map((m) => m.text), now().hasOlder]).toEqual([["two", "three", "five"], false]); // the server has no more
  client.failOlder = true;
  await expect(now().loadOlder()).rejects.toThrow("offline");
});

test("a conversation that another one replaces is opened, and after a login all are", async () => {
  let id = "7";
  const seen = await render(() => useMessages(id));
  expect(client.opened).toEqual([]); // signed out
  await act(() => client.set({ connection: "connecting" }));
  id = "8";
  await act(() => client.set({ messages: [client.text(1, "x")] }));
  expect(client.opened).toEqual(["7", "8"]);
  expect(seen.length).toBeGreaterThan(1);
});

test("the composer sends, says why it could not, and keeps the text then", async () => {
  client.set({ conversations: [client.view("7", {})] });
  const seen: Composer[] = await render(() => useComposer("7"));
  const now = () => seen.at(-1)!;
  await act(() => now().setText(" "));
  expect([now().canSend, await now().send()]).toEqual([false, false]);
  await act(() => now().setText(" hello "));
  await act(() => now().setText(" hello!"));
  expect(client.typed).toEqual(["7"]); // once in two seconds; not for " ", which came in the same
  await act(() => now().send());
  expect([client.sent, now().text, now().error]).toEqual([["7: hello!"], "", undefined]);
  client.failSend = true;
  await act(() => now().setText("again"));
  await act(() => now().send());
  expect([now().text, now().error?.message]).toEqual(["again", "no room"]);
  await act(async () => {
    const sending = now().send();
    now().setText("more");
    await sending;
  });
  expect([now().text, now().error?.message]).toEqual(["again\nmore", "no room"]);
  await act(() => now().setText("x".repeat(100_001)));
  expect(now().error).toBeUndefined();
  await act(() => now().send());
  expect([now().text.length, now().error?.reason, client.sent.length]).toEqual([100_001, "text_too_long", 1]);
});

test("the composer sends a text with the mentions and the link preview that it has then", async () => {
  client.set({ conversations: [client.view("7", {})] });
  const linkPreview = create(LinkPreviewSchema, { url: "https://example.com", title: "A page" });
  const optionsOf = (said: string) => (said.includes("https://example.com") ? { linkPreview } : {});
  const seen: Composer[] = await render(() => useComposer("7", undefined, 3, optionsOf));
  await act(() => seen.at(-1)!.setText(" see https://example.com"));
  await act(() => seen.at(-1)!.send());
  expect(client.sentWith).toEqual({ replyTo: 3, linkPreview });
  await act(() => seen.at(-1)!.setText("see nothing"));
  await act(() => seen.at(-1)!.send());
  expect(client.sentWith).toEqual({ replyTo: 3 });
});

test("a draft is saved when the composer goes away, and one from another device shows unless one is writing", async () => {
  const saved: string[] = [];
  const drafts: DraftStore = { store: (c, t) => saved.push(`stored ${c} ${t}`), save: async (c, t) => void saved.push(`saved ${c} ${t}`), discard: (c, t) => saved.push(`discarded ${c} ${t}`) };
  client.set({ conversations: [client.view("7", { draft: "from the phone" })] });
  const seen: Composer[] = await render(() => useComposer("7", drafts));
  const now = () => seen.at(-1)!;
  expect(now().text).toBe("from the phone");
  await act(() => client.set({ conversations: [client.view("7", { draft: "from the tablet" })] }));
  expect(now().text).toBe("from the tablet");
  now().setFocused(true);
  await act(() => client.set({ conversations: [client.view("7", { draft: "later" })] }));
  expect(now().text).toBe("from the tablet");
  await act(() => now().setText("mine"));
  await act(() => root.render(null));
  expect(saved).toEqual(["stored 7 mine", "saved 7 mine"]);
});

test("a hook without a provider says what is missing", async () => {
  function Probe(): ReactNode {
    useConversations();
    return null;
  }
  await expect(act(async () => root.render(createElement(Probe)))).rejects.toThrow("<RialtoProvider client={client}>");
});
