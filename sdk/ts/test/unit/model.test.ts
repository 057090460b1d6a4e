import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ConversationKind, ConversationSchema } from "../../src/gen/rialto/chat/v1/chat_pb.js";
import { ContentSchema, Control_Action, Role } from "../../src/gen/rialto/chat/v1/message_pb.js";
import { MessageLog } from "../../src/log.js";
import { applyMessage, mergeConversation } from "../../src/merge.js";
import { badge as badgeOf, isShown, unknownConversation, unread, type ChatMessage, type ConversationView } from "../../src/model.js";

function message(seq: number, counted: number, sender: string, control?: Control_Action): ChatMessage {
  const kind = control === undefined ? { case: "text" as const, value: `m${seq}` } : { case: "control" as const, value: { action: control } };
  return { conversation: "7", seq, id: "", sender, device: "1", clientSeq: 0, timeMs: seq, counted, text: "", content: create(ContentSchema, { kind }) };
}

/** The badge of some conversations, which need no ids of their own. */
const badge = (list: ConversationView[]) => badgeOf(new Map(list.map((c, i) => [String(i), c])));

test("unread is a subtraction: own messages read, repeats and disorder change nothing", () => {
  let c = unknownConversation("7");
  for (const m of [message(1, 0, "0", Control_Action.CREATED), message(2, 1, "bob"), message(3, 2, "bob"), message(3, 2, "bob"), message(2, 1, "bob")]) c = applyMessage(c, m, "me");
  expect(unread(c)).toBe(2);
  c = applyMessage(c, message(4, 3, "me"), "me");
  expect(unread(c)).toBe(0);
  c = applyMessage(c, message(5, 4, "bob"), "me");
  expect([unread(c), badge([c, { ...c, muted: true }])]).toEqual([1, 1]);
});

test("the badge leaves out what is muted, archived or left", () => {
  const c = { ...unknownConversation("7"), lastCounted: 5, readCounted: 2 };
  expect(badge([c, c])).toBe(6);
  expect(badge([{ ...c, muted: true }])).toBe(0);
  expect(badge([{ ...c, archived: true }])).toBe(0);
  expect(badge([{ ...c, leaveSeq: 9 }])).toBe(0);
});

test("the badge counts followed threads, of conversations that one is in", () => {
  const parent = unknownConversation("7");
  const thread: ConversationView = { ...unknownConversation("8"), kind: ConversationKind.THREAD, parent: "7", role: Role.MEMBER, lastCounted: 3 };
  const of = (parent: ConversationView | undefined, thread: ConversationView) => badgeOf(new Map([...(parent ? [[parent.id, parent] as const] : []), [thread.id, thread]]));
  expect(of(parent, thread)).toBe(3);
  expect(of(parent, { ...thread, role: Role.UNSPECIFIED })).toBe(0);
  expect(of({ ...parent, leaveSeq: 9 }, thread)).toBe(0);
  expect(of(undefined, thread)).toBe(0);
});

test("who follows a thread is not shown in it, and reads what was said before", () => {
  const control = (seq: number, action: Control_Action): ChatMessage => ({ ...message(seq, 1, "me"), content: create(ContentSchema, { kind: { case: "control", value: { action, users: ["me"] } } }) });
  let c: ConversationView = { ...unknownConversation("7"), kind: ConversationKind.THREAD, joinSeq: 1 };
  c = applyMessage(c, message(2, 1, "bob"), "me");
  c = applyMessage(c, control(3, Control_Action.JOINED), "me");
  expect([c.role, c.joinSeq, c.lastMessage?.seq]).toEqual([Role.MEMBER, 1, 2]);
  c = applyMessage(c, control(4, Control_Action.LEFT), "me");
  expect([c.role, c.leaveSeq, c.lastMessage?.seq]).toEqual([Role.UNSPECIFIED, 0, 2]);
});

test("the server's view brings pin, mute, archive and draft, and keeps what the user set since", () => {
  const state = { conversation: "7", pinned: true, muted: true, archived: true, draft: "not yet" };
  const settings = (c: ConversationView) => [c.pinned, c.muted, c.archived, c.draft];
  const fresh = mergeConversation(undefined, create(ConversationSchema, { id: "7", state }));
  expect(settings(fresh)).toEqual([true, true, true, "not yet"]);
  expect(settings(mergeConversation(fresh, create(ConversationSchema, { id: "7", state: { conversation: "7" } })))).toEqual([false, false, false, ""]);
  const set = { ...fresh, pinned: false, muted: false, archived: false, draft: "mine", pending: { pinned: false, muted: false, archived: false, draft: "mine" } };
  expect(settings(mergeConversation(set, create(ConversationSchema, { id: "7", state })))).toEqual([false, false, false, "mine"]);
});

test("a conversation whose messages have expired shows none, and counts none", () => {
  let c = unknownConversation("7");
  for (const m of [message(1, 0, "0", Control_Action.CREATED), message(2, 1, "bob"), message(3, 2, "bob")]) c = applyMessage(c, m, "me");
  const answer = create(ConversationSchema, { id: "7", joinSeq: 4n, lastSeq: 3n, keptSeconds: 7, state: { conversation: "7", readSeq: 3n, readCounted: 2n } });
  c = mergeConversation(c, answer);
  expect([c.lastMessage, unread(c), c.keptSeconds, c.joinSeq]).toEqual([undefined, 0, 7, 4]);
  c = mergeConversation(applyMessage(c, message(4, 3, "bob"), "me"), answer); // an answer from before
  expect([c.lastMessage?.seq, unread(c)]).toEqual([4, 1]);
});

test("a conversation that goes back to the server's retention keeps its messages until that is known", () => {
  const retention = (seq: number, retentionSeconds: number): ChatMessage => ({ ...message(seq, 0, "0"), content: create(ContentSchema, { kind: { case: "control", value: { action: Control_Action.RETENTION, retentionSeconds } } }) });
  const short = applyMessage(unknownConversation("7"), retention(1, 60), "me");
  const back = applyMessage(short, retention(2, 0), "me");
  expect([short, back].map((c) => [c.retentionSeconds, c.keptSeconds])).toEqual([[60, 60], [0, 0]]);
});

test("entries that only steer are not shown", () => {
  expect(isShown(message(1, 0, "0", Control_Action.ACCESS))).toBe(false);
  expect(isShown(message(1, 0, "0", Control_Action.RENAMED))).toBe(true);
});

test("the log shows each message once, in order, and names its first hole", () => {
  const log = new MessageLog();
  for (const seq of [5, 9, 6, 6]) log.add(message(seq, seq, "bob"));
  expect(log.messages.map((m) => m.seq)).toEqual([5, 6, 9]);
  expect(log.hole(9)).toEqual({ first: 7, last: 8 });
  log.void(7, 7);
  expect(log.hole(10)).toEqual({ first: 8, last: 8 });
  log.add(message(8, 8, "bob"));
  expect(log.hole(9)).toBeUndefined();
  expect(log.add(message(4, 4, "bob"))).toBe(false);
});

test("who hands a group over becomes an admin of it, and who takes it over is not muted any more", () => {
  const transferred = message(9, 0, "a", Control_Action.TRANSFERRED);
  if (transferred.content.kind.case === "control") transferred.content.kind.value.users = ["b"];
  const group = { ...unknownConversation("7"), stateSeq: 1 };
  expect(applyMessage({ ...group, role: Role.OWNER }, transferred, "a").role).toBe(Role.ADMIN);
  expect(applyMessage({ ...group, role: Role.MEMBER, mutedUntilMs: 5 }, transferred, "b")).toMatchObject({ role: Role.OWNER, mutedUntilMs: 0 });
});

test("a mute is that of those whom it names, and ends with the next one", () => {
  const mute = (seq: number, users: string[], untilMs: bigint) => {
    const m = message(seq, 0, "a", Control_Action.MUTED);
    if (m.content.kind.case === "control") Object.assign(m.content.kind.value, { users, untilMs });
    return m;
  };
  let c: ConversationView = { ...unknownConversation("7"), stateSeq: 1 };
  c = applyMessage(c, mute(2, ["b"], 500n), "me");
  expect([c.mutedUntilMs, c.mutedAll]).toEqual([0, false]);
  c = applyMessage(c, mute(3, ["me"], 500n), "me");
  expect([c.mutedUntilMs, c.mutedAll]).toEqual([500, false]);
  c = applyMessage(c, mute(4, ["me"], 0n), "me");
  expect(c.mutedUntilMs).toBe(0);
});
