import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { channelAddress, Channels } from "../../src/channels.js";
import { ConversationKind, ConversationSchema, EventSchema, Notices, type Event } from "../../src/gen/rialto/chat/v1/chat_pb.js";
import { JoinPolicy } from "../../src/gen/rialto/chat/v1/message_pb.js";
import type { ReplicaDeps } from "../../src/localdata.js";
import { mergeConversation } from "../../src/merge.js";
import { kindOf, unknownConversation } from "../../src/model.js";
import { Replica } from "../../src/replica.js";
import { memoryStorage } from "../../src/storage.js";

const news = create(ConversationSchema, { id: "7", kind: ConversationKind.GROUP, channel: true, title: "News", handle: "news", memberCount: 3 });

async function channels() {
  const asked: [string, object][] = [];
  const answer = (method: string, value: object) => (input: object) => {
    asked.push([method, input]);
    return Promise.resolve(value);
  };
  const api = {
    createGroup: answer("createGroup", { ...news, handle: "" }), updateGroup: answer("updateGroup", {}), getConversation: answer("getConversation", news),
    join: answer("join", { conversation: "7", joined: true }), leave: answer("leave", { seq: 0n }),
    previewJoinLink: answer("previewJoinLink", { conversation: "7", title: "News", announcement: "Daily", handle: "news", memberCount: 3, member: false, channel: true }),
  };
  const nothing = () => {};
  const store = await memoryStorage().open("1");
  const replica = new Replica({ me: "1", store, marks: { acknowledge: nothing }, api, isLeader: () => true, onChange: nothing, now: Date.now } as unknown as ReplicaDeps);
  return { replica, asked, store, channels: new Channels(() => api as never, () => replica) };
}

test.each([
  ["@News.today", { handle: "news.today" }],
  ["news", { handle: "news" }],
  ["77", { conversation: "77" }],
  ["https://chat.example/c/77", { conversation: "77" }],
  ["http://localhost:7070/c/News", { handle: "news" }],
  ["https://chat.example/g/77?x=1", { conversation: "77" }],
  ["https://chat.example/join/Ab_c-1", { token: "Ab_c-1" }],
  ["two words", undefined],
  ["x", undefined],
  ["https://chat.example/u/bob", undefined],
])("the address in %s", (text, address) => expect(channelAddress(text)).toEqual(address));

test("notices are marked", () => {
  const of = (notices: Notices) => mergeConversation(undefined, create(ConversationSchema, { id: "7", kind: ConversationKind.GROUP, channel: true, notices })).notices;
  expect([of(Notices.UNSPECIFIED), of(Notices.EVERYBODY), of(Notices.SEGMENT)]).toEqual([false, true, true]);
});

test("a channel is created with its policy, and its handle and description are set", async () => {
  const { asked, channels: c } = await channels();
  expect((await c.create({ title: "News", description: "Daily", handle: "news", open: false, key: "k" })).handle).toBe("news");
  expect(asked).toEqual([
    ["createGroup", { title: "News", channel: true, joinPolicy: JoinPolicy.INVITE, key: "k" }],
    ["updateGroup", { conversation: "7", handle: "news", announcement: "Daily" }],
    ["getConversation", { conversation: "7" }],
  ]);
});

test("a channel is previewed, followed, and forgotten by who leaves it", async () => {
  const { replica, store, channels: c } = await channels();
  expect(await c.preview({ handle: "news" })).toEqual({ conversation: "7", title: "News", description: "Daily", handle: "news", followers: 3, following: false, channel: true });
  const joined = await c.join({ handle: "news" });
  expect([joined.id, joined.channel, joined.handle, kindOf(joined)]).toEqual(["7", true, "news", "channel"]);
  replica.data.position = { epoch: 1, seq: 1 };
  await store.write([{ table: "messages", key: "7/1", value: { seq: 1 } }, { table: "messages", key: "70/1", value: { seq: 1 } }]);
  await c.leave("7");
  await replica.data.written();
  expect(replica.data.conversations.size).toBe(0);
  expect((await store.list("messages")).length).toBe(1); // that of conversation 70
});

test("another device follows and leaves by the stream's events", async () => {
  const { replica, asked } = await channels();
  const event = (follows: boolean): Event => create(EventSchema, { epoch: 1, seq: 1n, body: { case: "follow", value: { conversation: "7", follows } } });
  replica.events.apply(event(true), [], true);
  await expect.poll(() => replica.data.conversations.get("7")?.title).toBe("News");
  replica.events.apply(event(false), [], true);
  expect(replica.data.conversations.size).toBe(0);
  expect(asked.length).toBe(1);
});

test("a conversation that was imported appears by the event of its read cursor", async () => {
  const { replica, asked } = await channels();
  const event = create(EventSchema, { epoch: 1, seq: 1n, body: { case: "conversation", value: { conversation: "7", readSeq: 5n } } });
  for (let n = 0; n < 2; n++) replica.events.apply(event, [], true);
  await expect.poll(() => replica.data.conversations.get("7")?.title).toBe("News");
  expect(replica.data.view("7").readSeq).toBe(5);
  expect(asked).toEqual([["getConversation", { conversation: "7" }]]);
});

test("what a conversation is called", () => {
  expect(kindOf(unknownConversation("7"))).toBeUndefined();
  expect(kindOf(mergeConversation(undefined, create(ConversationSchema, { id: "7", kind: ConversationKind.DIRECT })))).toBe("direct");
  expect(kindOf(mergeConversation(undefined, create(ConversationSchema, { id: "7", kind: ConversationKind.GROUP })))).toBe("group");
});
