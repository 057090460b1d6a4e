import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ConversationSchema } from "../../src/gen/rialto/chat/v1/chat_pb.js";
import { ContentSchema, Control_Action } from "../../src/gen/rialto/chat/v1/message_pb.js";
import { MessageLog } from "../../src/log.js";
import { applyMessage, badge, isShown, mergeConversation, unknownConversation, unread, type ChatMessage } from "../../src/model.js";

function message(seq: number, counted: number, sender: string, control?: Control_Action): ChatMessage {
  const kind = control === undefined ? { case: "text" as const, value: `m${seq}` } : { case: "control" as const, value: { action: control } };
  return { conversation: "7", seq, id: "", sender, device: "1", clientSeq: 0, timeMs: seq, counted, content: create(ContentSchema, { kind }) };
}

test("unread is a subtraction: own messages read, repeats and disorder change nothing", () => {
  let c = unknownConversation("7");
  for (const m of [message(1, 0, "0", Control_Action.CREATED), message(2, 1, "bob"), message(3, 2, "bob"), message(3, 2, "bob"), message(2, 1, "bob")]) c = applyMessage(c, m, "me");
  expect(unread(c)).toBe(2);
  c = applyMessage(c, message(4, 3, "me"), "me");
  expect(unread(c)).toBe(0);
  c = applyMessage(c, message(5, 4, "bob"), "me");
  expect([unread(c), badge([c, { ...c, muted: true }])]).toEqual([1, 1]);
});

test("a conversation whose messages have expired shows none, and counts none", () => {
  let c = unknownConversation("7");
  for (const m of [message(1, 0, "0", Control_Action.CREATED), message(2, 1, "bob"), message(3, 2, "bob")]) c = applyMessage(c, m, "me");
  const answer = create(ConversationSchema, { id: "7", joinSeq: 4n, lastSeq: 3n, keptDays: 7, state: { conversation: "7", readSeq: 3n, readCounted: 2n } });
  c = mergeConversation(c, answer);
  expect([c.lastMessage, unread(c), c.keptDays, c.joinSeq]).toEqual([undefined, 0, 7, 4]);
  c = mergeConversation(applyMessage(c, message(4, 3, "bob"), "me"), answer); // an answer from before
  expect([c.lastMessage?.seq, unread(c)]).toEqual([4, 1]);
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
