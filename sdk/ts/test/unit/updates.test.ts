import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { EventSchema, type Event } from "../../src/gen/rialto/chat/v1/chat_pb.js";
import { ContentSchema, LinkPreviewSchema, MessageSchema, type Content } from "../../src/gen/rialto/chat/v1/message_pb.js";
import type { ReplicaDeps } from "../../src/localdata.js";
import { isShown, toMessage, unread, type ChatMessage } from "../../src/model.js";
import { Replica } from "../../src/replica.js";
import { memoryStorage } from "../../src/storage.js";
import { applyUpdate, edit, pin, reaction, recall, ref, withPending } from "../../src/updates.js";

const me = "1";
const bob = "2";

function message(seq: number, content: Content["kind"], sender = bob): ChatMessage {
  return toMessage(create(MessageSchema, { conversation: "7", seq: BigInt(seq), sender, timeMs: BigInt(1000 + seq), counted: BigInt(seq), content: create(ContentSchema, { kind: content }) }));
}

const text = (value: string): Content["kind"] => ({ case: "text", value });

/** A reaction as the server gives it, with all counts. */
function counted(seq: number, emoji: string, remove: boolean, version: number, counts: Record<string, number>): Content["kind"] {
  const kind = reaction(seq, emoji, remove);
  if (kind.case === "reaction") kind.value.reactions = { $typeName: "rialto.chat.v1.Reactions", version: BigInt(version), counts: Object.entries(counts).map(([emoji, count]) => ({ $typeName: "rialto.chat.v1.ReactionCount", emoji, count })), mine: [] };
  return kind;
}

function after(m: ChatMessage, ...updates: [number, Content["kind"], string?][]): ChatMessage {
  return updates.reduce((m, [seq, kind, sender = bob]) => applyUpdate(m, create(ContentSchema, { kind }), { seq, sender, timeMs: 2000 + seq }, me), m);
}

test("of edits the highest seq wins, in whatever order they come", () => {
  const m = message(3, text("first"));
  for (const order of [[5, 6], [6, 5], [6, 5, 6]]) {
    const edited = after(m, ...order.map((seq): [number, Content["kind"]] => [seq, edit(3, `edit ${seq}`)]));
    expect([edited.text, edited.editSeq, edited.editedMs]).toEqual(["edit 6", 6, 2006]);
  }
});

test("an edit has its own link preview, or none", () => {
  const preview = create(LinkPreviewSchema, { url: "https://example.com", title: "A page" });
  const m = message(3, text("see https://example.com"));
  const shown = after(m, [5, edit(3, "do see https://example.com", [], preview)]);
  expect(shown.content.linkPreview?.title).toBe("A page");
  expect(after(shown, [6, edit(3, "see nothing")]).content.linkPreview).toBeUndefined();
});

test("an edit of a file or an album changes its caption alone", () => {
  const image = create(ContentSchema, { kind: { case: "image", value: { upload: "9", name: "sea.png", caption: "the see" } } });
  const album = create(ContentSchema, { kind: { case: "album", value: { items: [{ kind: { case: "image", value: { upload: "9" } } }], caption: "the see" } } });
  for (const of of [image, album]) {
    const edited = after(message(3, of.kind), [5, edit(3, "the sea", [], undefined, of)]);
    expect(edited.text).toBe("the sea");
    expect(edited.content.kind).toEqual({ case: of.kind.case, value: { ...(of.kind.value as object), caption: "the sea" } });
  }
});

test("an edit that is on its way keeps what the message replies to", () => {
  const m = message(3, text("frist"));
  const reply = { ...m, content: { ...m.content, replyTo: ref(2) } };
  expect(after(reply, [5, edit(3, "first")]).content).toMatchObject({ kind: { value: "first" }, replyTo: { seq: 2n } });
});

test("an edit without content, of a message that was recalled since, changes nothing", () => {
  const m = message(3, text("first"));
  const empty = edit(3, "");
  if (empty.case === "edit") delete empty.value.content;
  expect(after(m, [5, empty]).text).toBe("first");
});

test("a recall is final, and leaves no text and no reactions", () => {
  const m = after(message(3, text("secret")), [4, counted(3, "👍", false, 1, { "👍": 1 })], [5, recall(3)], [6, edit(3, "again")], [7, pin(3, false)]);
  expect(JSON.stringify({ ...m, content: { ...m.content, $typeName: undefined } })).not.toMatch(/secret|again|👍/);
  expect([m.recallSeq, m.recalledBy, m.pinned, isShown(m)]).toEqual([5, bob, undefined, true]);
});

test("a recall removes a pin", () => {
  const m = after(message(3, text("secret")), [4, pin(3, false)], [5, recall(3)]);
  expect([m.pinned, m.pinSeq, m.recallSeq]).toEqual([false, 4, 5]);
});

test("of counts the highest version is kept, and one's own reactions are known by one's own entries", () => {
  const m = after(message(3, text("x")), [6, counted(3, "👍", false, 2, { "👍": 2 }), me], [5, counted(3, "👍", false, 1, { "👍": 1 })], [7, counted(3, "❤️", false, 3, { "👍": 2, "❤️": 1 })]);
  expect(m.reactions).toEqual({ version: 3, counts: [{ emoji: "👍", count: 2 }, { emoji: "❤️", count: 1 }], mine: ["👍"] });
  expect(after(m, [8, counted(3, "👍", true, 4, { "👍": 1, "❤️": 1 }), me]).reactions?.mine).toEqual([]);
});

test("what is on its way shows at once, and a refused update does not", () => {
  const list = [message(3, text("first"), me), message(4, text("second"))];
  const out = (kind: Content["kind"], failed = false) => ({ conversation: "7", clientSeq: 9, text: "", content: create(ContentSchema, { kind }), createdMs: 1, ...(failed ? { failed: { code: "", reason: "", message: "" } } : {}) });
  const shown = withPending(list, [out(edit(3, "edited")), out(reaction(4, "👍", false)), out(recall(4), true)], me);
  expect(shown.map((m) => [m.text, m.reactions?.counts])).toEqual([["edited", undefined], ["second", [{ emoji: "👍", count: 1 }]]]);
  expect(withPending(list, [], me)).toBe(list);
});

test("an update in the stream changes its message, is not shown, and a recalled message is not unread", async () => {
  const nothing = () => {};
  const store = await memoryStorage().open("1");
  const heard: string[] = [];
  const deps = {
    me, store, marks: { acknowledge: nothing, delivered: nothing }, graph: {}, isLeader: () => true, now: Date.now, onChange: nothing, onMessage: (m: ChatMessage) => heard.push(m.text),
    api: { getConversation: () => new Promise(nothing), history: () => new Promise(nothing) }, onRelation: nothing, onUpdated: nothing, onProfile: nothing, onSettings: nothing, onReset: nothing, onJoinRequests: nothing, onInvitations: nothing, onFolders: nothing, ownStored: nothing, onPushed: nothing,
  } as unknown as ReplicaDeps;
  const r = new Replica(deps);
  r.data.position = { epoch: 1, seq: 0 };
  let seq = 0;
  const event = (place: number, count: number, kind: Content["kind"]): Event => {
    seq++;
    const content = create(ContentSchema, { kind });
    return create(EventSchema, { epoch: 1, seq: BigInt(seq), prev: BigInt(seq - 1), body: { case: "message", value: create(MessageSchema, { conversation: "7", seq: BigInt(place), counted: BigInt(count), sender: bob, timeMs: BigInt(place), content }) } });
  };
  r.stream.pushed([event(1, 1, text("kept")), event(2, 2, text("secret"))]);
  await r.data.written();
  r.stream.pushed([event(3, 2, recall(2)), event(4, 2, edit(1, "edited"))]);
  await r.data.written();
  const c = r.data.view("7");
  expect([unread(c), c.lastMessage?.seq, c.lastMessage?.text, c.lastMessage?.recallSeq, c.lastSeq]).toEqual([1, 2, "", 3, 4]);
  expect(heard).toEqual(["kept", "secret"]);
  // The device has no copy of what it did not change: the server has it as it is now.
  const stored = await store.list<ChatMessage>("messages", {});
  expect(stored.map((m) => m.seq)).toEqual([3, 4]);
  expect(JSON.stringify(stored, (_, v: unknown) => (typeof v === "bigint" ? String(v) : v))).not.toContain("secret");
});

test("of the reports of a bridge the highest seq counts, and other bridges have their own", () => {
  const report = (bridge: string, externalId: string, reason = ""): Content["kind"] => ({
    case: "bridgeReport",
    value: { $typeName: "rialto.chat.v1.BridgeReport", target: ref(3), delivery: { $typeName: "rialto.chat.v1.BridgeDelivery", bridge, seq: 0n, externalId, reason, text: "" } },
  });
  const m = message(3, text("first"));
  const shown = (m: ChatMessage) => m.bridgeDeliveries?.map((d) => `${d.bridge} ${d.seq} ${d.externalId}${d.reason}`);
  expect(shown(after(m, [5, report("irc", "", "not_voiced")], [6, report("xmpp", "x1")], [7, report("irc", "i1")]))).toEqual(["xmpp 6 x1", "irc 7 i1"]);
  expect(shown(after(m, [7, report("irc", "i1")], [5, report("irc", "", "not_voiced")]))).toEqual(["irc 7 i1"]);
  expect(isShown(message(4, report("irc", "i1")))).toBe(false);
});
