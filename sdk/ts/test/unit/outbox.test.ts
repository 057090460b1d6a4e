import { create } from "@bufbuild/protobuf";
import { beforeEach, expect, test, vi } from "vitest";
import { ContentSchema } from "../../src/gen/rialto/chat/v1/message_pb.js";
import { ReceiptSchema } from "../../src/gen/rialto/gateway/v1/gateway_pb.js";
import type { OutgoingMessage } from "../../src/model.js";
import { Outbox } from "../../src/outbox.js";
import { memoryStorage, type Store } from "../../src/storage.js";

let store: Store;
let sent: bigint[];
let named: bigint[];
let now: number;
let stored: OutgoingMessage[];
let connected: boolean;

function outbox(): Outbox {
  return new Outbox({
    store,
    counter: "client_seq/1",
    transmit: (sends) => {
      if (connected) sent.push(...sends.map((s) => s.clientSeq));
      if (connected) named.push(...sends.map((s) => s.prevClientSeq));
      return connected;
    },
    now: () => now,
    onChange: () => {},
    onAcknowledged: () => {},
    onStored: (item) => stored.push(item),
  });
}

const text = (value: string) => create(ContentSchema, { kind: { case: "text", value } });
const receipt = (clientSeq: number, error?: { code: string; reason: string; retryMs?: number }) =>
  create(ReceiptSchema, { conversation: "7", clientSeq: BigInt(clientSeq), id: "x", seq: 5n, ...(error ? { error: { $typeName: "rialto.gateway.v1.Error", message: "no", retryMs: 0, ...error } } : {}) });

beforeEach(async () => {
  store = await memoryStorage().open("test");
  sent = [];
  named = [];
  now = 1_000_000;
  stored = [];
  connected = false;
});

test("what is sent without a connection goes out, in order, when there is one, and once more after each reconnect until its receipt", async () => {
  const o = outbox();
  await Promise.all([o.enqueue("7", text("a")), o.enqueue("7", text("b")), o.enqueue("8", text("c"))]);
  expect(sent).toEqual([]);
  connected = true;
  o.opened(0);
  expect(sent).toEqual([1n, 2n, 3n]);
  await o.receipt(receipt(1));
  o.closed();
  o.opened(1);
  expect(sent).toEqual([1n, 2n, 3n, 2n, 3n]);
  expect(stored.map((i) => i.clientSeq)).toEqual([1]);
  o.closed();
});

test("it survives a reload, and counts on above what the server has", async () => {
  await outbox().enqueue("7", text("kept"));
  const o = outbox();
  await o.load();
  expect(o.size).toBe(1);
  connected = true;
  o.opened(41);
  expect((await o.enqueue("7", text("new"))).clientSeq).toBe(42);
  expect(sent).toEqual([1n, 42n]);
  o.closed();
});

test("a refusal for good is shown, and a retry by hand gets a number of its own", async () => {
  connected = true;
  const o = outbox();
  o.opened(0);
  await o.enqueue("7", text("too long"));
  await o.receipt(receipt(1, { code: "invalid_argument", reason: "text_too_long" }));
  expect(o.list("7")[0]?.failed?.reason).toBe("text_too_long");
  await o.retry(1);
  expect(o.list("7").map((i) => [i.clientSeq, i.failed])).toEqual([[2, undefined]]);
  expect(sent).toEqual([1n, 2n]);
  o.closed();
});

test("a refusal for now holds back what comes after in that conversation only", async () => {
  connected = true;
  const o = outbox();
  o.opened(0);
  await o.enqueue("7", text("a"));
  await o.receipt(receipt(1, { code: "unavailable", reason: "busy", retryMs: 5_000 }));
  await o.enqueue("7", text("b"));
  await o.enqueue("8", text("c"));
  expect(sent).toEqual([1n, 3n]);
  o.closed();
});

test("a repeat has the number of its first try: after a reconnect, a refusal for now, or no receipt", async () => {
  vi.useFakeTimers();
  try {
    connected = true;
    const o = outbox();
    o.opened(0);
    await o.enqueue("7", text("a"));
    await o.receipt(receipt(1, { code: "unavailable", reason: "busy", retryMs: 5_000 }));
    now += 5_000;
    await vi.advanceTimersByTimeAsync(5_000);
    expect(sent).toEqual([1n, 1n]);
    now += 20_000; // no receipt
    await vi.advanceTimersByTimeAsync(20_000);
    expect(sent).toEqual([1n, 1n, 1n]);
    o.closed();
    o.opened(0);
    await vi.advanceTimersByTimeAsync(0);
    expect(sent).toEqual([1n, 1n, 1n, 1n]);
    expect(o.list("7").map((i) => i.clientSeq)).toEqual([1]);
    o.closed();
  } finally {
    vi.useRealTimers();
  }
});

test("a message that the server holds is not repeated on that connection, and goes again on the next", async () => {
  vi.useFakeTimers();
  const later = async (ms: number) => {
    now += ms;
    await vi.advanceTimersByTimeAsync(ms);
  };
  try {
    connected = true;
    const o = outbox();
    o.opened(0);
    await o.enqueue("7", text("a"));
    o.accepted(1);
    o.accepted(9); // unknown
    await later(30 * 60_000);
    await o.enqueue("7", text("b")); // the server holds it as well
    o.accepted(2);
    expect(sent).toEqual([1n, 2n]);
    expect(named).toEqual([0n, 0n]);
    o.closed();
    o.opened(0);
    expect(sent).toEqual([1n, 2n, 1n, 2n]);
    o.accepted(1);
    await o.receipt(receipt(1, { code: "unavailable", reason: "busy", retryMs: 5_000 })); // the outage lasts too long
    o.accepted(2);
    await later(5_000);
    expect(sent).toEqual([1n, 2n, 1n, 2n, 1n]);
    await o.receipt(receipt(1));
    await o.receipt(receipt(2));
    expect(stored.map((i) => i.clientSeq)).toEqual([1, 2]);
    o.accepted(3);
    expect(o.size).toBe(0);
    o.closed();
  } finally {
    vi.useRealTimers();
  }
});

test("what goes right behind the message before it on one connection names none, also after a reconnect and a reload", async () => {
  connected = true;
  const o = outbox();
  o.opened(0);
  for (const value of ["a", "b", "c"]) await o.enqueue("7", text(value));
  o.closed();
  o.opened(0);
  o.closed();
  const reloaded = outbox();
  await reloaded.load();
  reloaded.opened(0);
  expect(sent).toEqual([1n, 2n, 3n, 1n, 2n, 3n, 1n, 2n, 3n]);
  expect(new Set(named)).toEqual(new Set([0n]));
  reloaded.closed();
});

test("a message behind others whose order is not certain names the one before it, but none that was refused for good", async () => {
  connected = true;
  const o = outbox();
  o.opened(0);
  for (const value of ["a", "b"]) await o.enqueue("7", text(value));
  await o.receipt(receipt(1, { code: "unavailable", reason: "busy", retryMs: 5_000 }));
  await o.enqueue("7", text("c")); // waits for a
  now += 5_000;
  o.pump(); // a and c; b has no receipt yet
  expect(sent).toEqual([1n, 2n, 1n, 3n]);
  expect(named).toEqual([0n, 0n, 0n, 2n]);
  await o.receipt(receipt(2, { code: "permission_denied", reason: "muted" }));
  await o.receipt(receipt(3, { code: "unavailable", reason: "missing_previous", retryMs: 100 }));
  now += 500;
  o.pump();
  expect(sent.slice(4)).toEqual([1n, 3n]);
  expect(named.slice(4)).toEqual([0n, 0n]);
  o.closed();
});

test("what the server lacks goes again at once, and what it held behind that follows", async () => {
  connected = true;
  const o = outbox();
  o.opened(0);
  for (const value of ["a", "b", "c"]) await o.enqueue("7", text(value));
  await o.enqueue("8", text("d"));
  await o.receipt(receipt(2, { code: "unavailable", reason: "missing_previous", retryMs: 100 }));
  await o.receipt(receipt(3, { code: "unavailable", reason: "missing_previous", retryMs: 100 }));
  expect(sent.slice(4)).toEqual([1n, 1n]);
  await o.receipt(receipt(1));
  now += 500;
  o.pump();
  expect(sent.slice(6)).toEqual([2n, 3n]);
  expect(named.slice(6)).toEqual([0n, 0n]);
  o.closed();
});

const answer = (value: string, seq: bigint) => create(ContentSchema, { kind: { case: "text", value }, replyTo: { seq } });
const repliesTo = (o: Outbox) => o.all().map((i) => [i.clientSeq, Number(i.content.replyTo?.seq ?? 0n)]);
const noneIsSame = () => false;

test("after a reset, an answer that the server may have stays as it is; others lose the lost message that they name", async () => {
  const o = outbox();
  for (const value of ["a", "b", "c"]) await o.enqueue("7", answer(value, 5n));
  await o.dropLost(noneIsSame); // no server has told yet what it has
  expect(repliesTo(o)).toEqual([[1, 5], [2, 5], [3, 5]]);
  connected = true;
  o.opened(1);
  await o.enqueue("8", text("d")); // it goes at once, before the answers with lower numbers
  await o.dropLost(noneIsSame);
  expect(repliesTo(o)).toEqual([[1, 5], [2, 0], [3, 0], [4, 0]]);
  o.closed();
});

test("a reset while a connection is open leaves answers that were sent on it as they are, also after its end, until the server says what it has", async () => {
  connected = true;
  const o = outbox();
  o.opened(0);
  o.synced();
  await o.enqueue("7", answer("a", 5n));
  expect(sent).toEqual([1n]);
  await o.dropLost(noneIsSame);
  o.closed();
  connected = false;
  await o.enqueue("7", answer("b", 5n));
  o.sending(o.find(2)!); // by a call
  await o.enqueue("7", answer("c", 5n));
  await o.dropLost(noneIsSame);
  expect(repliesTo(o)).toEqual([[1, 5], [2, 5], [3, 0]]);
  o.opened(1);
  await o.dropLost(noneIsSame);
  expect(repliesTo(o)).toEqual([[1, 5], [2, 0], [3, 0]]);
  o.closed();
});

test("a message whose receipt comes while a reset is handled does not come back", async () => {
  const o = outbox();
  o.opened(0);
  for (const value of ["a", "b"]) await o.enqueue("7", answer(value, 5n));
  const dropped = o.dropLost(noneIsSame);
  await o.receipt(receipt(2));
  await dropped;
  expect(repliesTo(o)).toEqual([[1, 0]]);
  expect((await store.list<OutgoingMessage>("outbox")).map((i) => i.clientSeq)).toEqual([1]);
  o.closed();
});
