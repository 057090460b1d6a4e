import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ConversationSchema } from "../../src/gen/rialto/chat/v1/chat_pb.js";
import { ContentSchema, MentionSchema, MessageSchema, Role, type Content, type Mention } from "../../src/gen/rialto/chat/v1/message_pb.js";
import { findMentions, joinMentions, mentionsUser, splitMentions, type NamedMention } from "../../src/mentions.js";
import { applyMessage, mergeConversation, mergeState, withMention } from "../../src/merge.js";
import { toMessage, unknownConversation, type ConversationView } from "../../src/model.js";

const me = "1";

function content(text: string, mentions: readonly Mention[] = []): Content {
  return create(ContentSchema, { kind: { case: "text", value: text }, mentions: [...mentions] });
}

const mention = (fields: Partial<Omit<Mention, "$typeName" | "$unknown">>) => create(MentionSchema, { length: 1, ...fields });

test("mentions are ranges of characters, whatever their length in UTF-16", () => {
  const chosen: NamedMention[] = [{ name: "@Ann", mentioned: { user: "2" } }, { name: "@Anna 🎉", mentioned: { user: "3" } }, { name: "@所有人", mentioned: { everybody: true } }, { name: "@admins", mentioned: { admins: true } }];
  const text = "😀 @Anna 🎉, @Ann and @所有人 (@admins), not @Bob";
  const parts = findMentions(text, chosen);
  expect(parts.map((p) => p.text).join("")).toBe(text);
  const joined = joinMentions(parts);
  expect(joined.text).toBe(text);
  const characters = [...text];
  expect(joined.mentions.map((m) => [characters.slice(m.start, m.start + m.length).join(""), m.user, m.role, m.everybody])).toEqual([
    ["@Anna 🎉", "3", Role.UNSPECIFIED, false], ["@Ann", "2", Role.UNSPECIFIED, false], ["@所有人", "0", Role.UNSPECIFIED, true], ["@admins", "0", Role.ADMIN, false],
  ]);
  expect(splitMentions(text, content(text, joined.mentions))).toEqual(parts);
});

test("mentions that do not fit the text are a text", () => {
  const odd = [mention({ start: 9, user: "2" }), mention({ start: 0, length: 0, user: "2" }), mention({ start: 1 }), mention({ start: 1, user: "2" }), mention({ start: 1, user: "3" })];
  expect(splitMentions("abc", content("abc", odd))).toEqual([{ text: "a" }, { text: "b", mentioned: { user: "2" } }, { text: "c" }]);
});

test("at most 100 mentions are made", () => {
  const parts = Array.from({ length: 150 }, () => ({ text: "@a", mentioned: { user: "2" } }));
  expect(joinMentions(parts).mentions.length).toBe(100);
});

test("everybody, and whom a role names, is mentioned", () => {
  expect(mentionsUser(content("x", [mention({ everybody: true })]), me)).toBe(true);
  expect(mentionsUser(content("x", [mention({ role: Role.ADMIN, users: ["2", "1"] })]), me)).toBe(true);
  expect(mentionsUser(content("x", [mention({ role: Role.ADMIN, users: ["2"] })]), me)).toBe(false);
  expect(mentionsUser({ $typeName: "rialto.chat.v1.Content", kind: { case: undefined } } as Content, me)).toBe(false); // stored by an older version
});

test("unread mentions follow the messages and the read cursor, also when they come again", () => {
  const say = (seq: number, mentions: Mention[], sender = "2") => toMessage(create(MessageSchema, { conversation: "7", seq: BigInt(seq), counted: BigInt(seq), sender, content: content("x", mentions) }));
  let c: ConversationView = unknownConversation("7");
  for (const m of [say(1, [mention({ user: me })]), say(2, []), say(3, [mention({ everybody: true })]), say(1, [mention({ user: me })]), say(4, [mention({ user: "2" })])]) c = applyMessage(c, m, me);
  expect(c.mentions).toEqual([1, 3]);
  c = withMention(c, 2, true); // by an edit
  expect(c.mentions).toEqual([1, 2, 3]);
  c = withMention(c, 3, false);
  c = mergeState(c, { $typeName: "rialto.chat.v1.ConversationState", conversation: "7", pinned: false, muted: false, archived: false, draft: "", readSeq: 1n, readCounted: 1n, markedUnread: false });
  expect(c.mentions).toEqual([2]);
  expect(withMention(c, 1, true).mentions).toEqual([2]); // it is read
  c = mergeConversation(c, create(ConversationSchema, { id: "7", lastSeq: 9n, mentions: [2n, 8n], state: { conversation: "7", readSeq: 1n } }));
  expect(c.mentions).toEqual([2, 8]);
  c = applyMessage(c, say(10, [mention({ user: me })], me), me);
  expect(c.mentions).toEqual([]);
});
