import { create } from "@bufbuild/protobuf";
import { expect, test, vi } from "vitest";
import { RialtoError } from "../../src/errors.js";
import { ConversationSchema, EventSchema, type Conversation } from "../../src/gen/rialto/chat/v1/chat_pb.js";
import type { ReplicaDeps } from "../../src/localdata.js";
import type { ConversationView } from "../../src/model.js";
import { Replica } from "../../src/replica.js";
import { memoryStorage, type Op } from "../../src/storage.js";

/** A replica whose syncs are answered by the test, one after the other. */
async function replica() {
  const asked: { after: number; answer: (next: number) => void }[] = [];
  const sync = ({ after }: { after: { seq: bigint } }) =>
    new Promise((resolve) => asked.push({ after: Number(after.seq), answer: (next) => resolve({ events: [], more: false, reset: false, large: [], next: { epoch: 1, seq: BigInt(next) } }) }));
  const nothing = () => {};
  const deps = {
    me: "1", store: await memoryStorage().open("1"), marks: { acknowledge: nothing }, api: { sync }, graph: {}, isLeader: () => true, now: Date.now,
    onChange: nothing, onMessage: nothing, onRelation: nothing, onUpdated: nothing, onProfile: nothing, onTicket: nothing, onSettings: nothing, onReset: nothing, onJoinRequests: nothing, onInvitations: nothing, onFolders: nothing, ownStored: nothing,
  } as unknown as ReplicaDeps;
  const r = new Replica(deps);
  r.data.position = { epoch: 1, seq: 5 };
  return { r, asked, turn: () => new Promise((resolve) => setTimeout(resolve, 0)) };
}

/** An event that names a conversation. */
const marked = (conversation: string, seq: number) =>
  create(EventSchema, { epoch: 1, seq: BigInt(seq), prev: BigInt(seq - 1), body: { case: "mark", value: { conversation } } });

test("what asks for a sync while one is under way has it asked once more: its page may have been read before", async () => {
  const { r, asked, turn } = await replica();
  const first = r.stream.sync();
  await turn();
  expect(asked.map((a) => a.after)).toEqual([5]);
  const hinted = r.stream.sync(); // as a hint, or a new connection's hello, does
  asked[0]!.answer(7);
  await turn();
  expect(asked.map((a) => a.after)).toEqual([5, 7]);
  expect(r.stream.catchingUp).toBe(true);
  asked[1]!.answer(9);
  await Promise.all([first, hinted]);
  await turn();
  expect(asked.length).toBe(2);
  expect(r.data.position).toEqual({ epoch: 1, seq: 9 });
  expect(r.stream.catchingUp).toBe(false);
});

test("an event that comes during a sync is read with the next page, where that sync's page was older", async () => {
  const { r, asked, turn } = await replica();
  const synced = r.stream.sync();
  await turn();
  r.stream.pushed([marked("9", 6), marked("8", 7)]);
  asked[0]!.answer(6);
  await turn();
  expect(asked.map((a) => a.after)).toEqual([5, 6]);
  asked[1]!.answer(7);
  await synced;
  expect(asked.length).toBe(2);
  expect(r.data.position).toEqual({ epoch: 1, seq: 7 });
});

test("an event that was there before changes nothing: the position does not go back, and nothing is synced", async () => {
  const { r, asked, turn } = await replica();
  r.stream.pushed([marked("9", 6)]);
  expect(r.data.position).toEqual({ epoch: 1, seq: 6 });
  r.stream.pushed([marked("8", 5), marked("8", 6), { ...marked("8", 7), epoch: 0 }]);
  await turn();
  expect(r.data.position).toEqual({ epoch: 1, seq: 6 });
  expect([...r.data.conversations.keys()]).toEqual(["9"]);
  expect(asked).toEqual([]);
});

test("a burst is stored in a few transactions, in order, and acknowledged once it is stored", async () => {
  const { r, turn } = await replica();
  const writes: { ops: readonly Op[]; end: () => void }[] = [];
  const acknowledged: number[] = [];
  const deps = r.data as unknown as { deps: Pick<ReplicaDeps, "store" | "marks"> };
  Object.assign(deps.deps.store, { write: (ops: readonly Op[]) => new Promise<void>((end) => writes.push({ ops, end })) });
  Object.assign(deps.deps.marks, { acknowledge: (at: { seq: number }) => acknowledged.push(at.seq) });
  for (let seq = 6; seq <= 400; seq++) {
    const ops: Op[] = [];
    r.data.put({ ...r.data.view("9"), lastSeq: seq }, ops);
    r.data.position = { epoch: 1, seq };
    r.data.keep(ops);
    if (seq === 6) await turn(); // its write has begun
  }
  const written = r.data.written();
  writes[0]!.end();
  await turn();
  expect(acknowledged).toEqual([6]);
  expect(writes.length).toBe(2);
  expect(writes[1]!.ops.at(-1)!.value).toEqual({ epoch: 1, seq: 400 });
  expect((writes[1]!.ops.filter((op) => op.key === "9").at(-1)!.value as { lastSeq: number }).lastSeq).toBe(400);
  writes[1]!.end();
  await written;
  expect(acknowledged).toEqual([6, 400]);
});

test("what changes while a conversation is fetched stays, here and in the store", async () => {
  const { r, turn } = await replica();
  const { deps } = r.conversations as unknown as { deps: Pick<ReplicaDeps, "api" | "marks"> };
  let answer = (_: Conversation) => {};
  Object.assign(deps.api, { getConversation: () => new Promise<Conversation>((resolve) => (answer = resolve)) });
  Object.assign(deps.marks, { read: () => {} });
  const ops: Op[] = [];
  r.data.put({ ...r.data.view("9"), lastSeq: 8, lastCounted: 7 }, ops);
  const fetched = r.conversations.refetch("9", ops);
  r.conversations.read("9", 8);
  answer(create(ConversationSchema, { id: "9", title: "new", lastSeq: 8n, state: { readSeq: 1n } }));
  await fetched;
  r.data.keep(ops);
  await r.data.written();
  await turn();
  const { store } = (r.data as unknown as { deps: Pick<ReplicaDeps, "store"> }).deps;
  for (const c of [r.data.view("9"), await store.get<ConversationView>("conversations", "9")]) expect(c).toMatchObject({ title: "new", readSeq: 8, lastSeq: 8 });
});

test("the store gets what is here when it is written, also of a change that was made before a wait", async () => {
  const { r } = await replica();
  const ops: Op[] = [];
  r.data.put({ ...r.data.view("9"), lastSeq: 8 }, ops);
  const later: Op[] = [];
  r.data.put({ ...r.data.view("9"), readSeq: 8 }, later);
  r.data.keep(later);
  r.data.keep(ops);
  await r.data.written();
  const { store } = (r.data as unknown as { deps: Pick<ReplicaDeps, "store"> }).deps;
  expect(await store.get<ConversationView>("conversations", "9")).toMatchObject({ readSeq: 8, lastSeq: 8 });
});

test.each([["not_found", 0], ["resource_exhausted", 1]])("a conversation whose fetch ended with %s is asked for %i times more at a reconnect", async (code, more) => {
  const { r } = await replica();
  const { deps } = r.conversations as unknown as { deps: Pick<ReplicaDeps, "api"> };
  let asked = 0;
  Object.assign(deps.api, { getConversation: () => Promise.reject(new RialtoError(code, `no, for the time ${++asked}`)) });
  const ops: Op[] = [];
  r.data.put(r.data.view("9"), ops); // the stream named it
  await r.conversations.refetch("9", ops);
  vi.useFakeTimers();
  try {
    r.conversations.wantUnknown();
    await vi.runAllTimersAsync();
  } finally {
    vi.useRealTimers();
  }
  expect(asked).toBe(1 + more);
});
