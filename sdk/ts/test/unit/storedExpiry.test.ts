import "fake-indexeddb/auto";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LocalData, messageKey, type ReplicaDeps } from "../../src/localdata.js";
import { indexedDBStorage } from "../../src/index.js";
import { unknownConversation, type ChatMessage, type ConversationView } from "../../src/model.js";
import type { Op, Store } from "../../src/storage.js";
import { StoredExpiry } from "../../src/storedExpiry.js";

const minute = 60_000;
let now: number;
let leads: boolean;
let syncs: number;
let fails: boolean;
let writes: readonly Op[][];
let store: Store;
let data: LocalData;
let expiry: StoredExpiry;
let names = 0;

beforeEach(async () => {
  [now, leads, syncs, fails, writes] = [1_000 * minute, true, 0, false, []];
  const inner = await indexedDBStorage().open(`stored-expiry-${++names}`);
  store = Object.assign(Object.create(inner) as Store, {
    write: (ops: readonly Op[]) => {
      writes = [...writes, [...ops]];
      return fails ? Promise.reject(new Error("the disk is full")) : inner.write(ops);
    },
  });
  const deps = { store, now: () => now, isLeader: () => leads, onChange: () => {}, marks: { acknowledge: () => {} } } as unknown as ReplicaDeps;
  data = new LocalData(deps);
  const sync = async () => void syncs++;
  expiry = new StoredExpiry(data, { ...deps, sync });
});
afterEach(() => {
  expiry.stop();
  store.close();
});

/** Stores messages of a conversation, one a minute; the last one is from now. */
async function stored(id: string, n: number, view: Partial<ConversationView>): Promise<void> {
  data.conversations.set(id, { ...unknownConversation(id), kind: 2, ...view });
  const at = (seq: number) => ({ conversation: id, seq, timeMs: now - (n - seq) * minute }) as ChatMessage;
  await store.write(Array.from({ length: n }, (_, i) => ({ table: "messages", key: messageKey(at(i + 1)), value: at(i + 1) })));
  writes = [];
}

const seqs = async (id: string) => (await store.list<ChatMessage>("messages", { lower: `${id}/`, upper: `${id}0` })).map((m) => m.seq);
const first = async (id: string) => (await seqs(id))[0];

/** Waits for a sweep, if one begins now. */
async function swept(run = () => expiry.sweep()): Promise<void> {
  const done = vi.spyOn(expiry as unknown as { sweepAll: () => Promise<void> }, "sweepAll");
  run();
  await done.mock.results[0]?.value;
  done.mockRestore();
  await data.written();
}

test("what has expired of chats that nobody opened goes from the device, in batches", async () => {
  await stored("1", 500, { keptSeconds: 50 * 60 });
  await stored("2", 10, {});
  await stored("3", 10, { joinSeq: 8 });
  await swept(() => expiry.synced());
  expect([(await seqs("1")).length, await first("1")]).toEqual([51, 450]);
  expect(writes.map((ops) => ops.length)).toEqual([1, 1, 1, 1, 1, 1]); // of the first chat its oldest, 200, 200 and 48; of the third its oldest, and 6
  expect([await first("2"), await first("3")]).toEqual([1, 8]);
  now += 10 * minute;
  await swept();
  expect(await first("1")).toBe(460);
});

test("a retention that was lengthened meanwhile is known before anything is deleted", async () => {
  await stored("1", 10, { keptSeconds: 60 });
  await swept();
  expect(await first("1")).toBe(1);
  data.conversations.set("1", { ...data.view("1"), keptSeconds: 3_600 });
  await swept(() => expiry.synced());
  expect(await first("1")).toBe(1);
});

test("each hour it syncs, and sweeps after that", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  try {
    const sweep = vi.spyOn(expiry, "sweep");
    expiry.start();
    expiry.synced();
    expiry.synced(); // as after each reconnect
    expect(sweep).toHaveBeenCalledTimes(1);
    vi.advanceTimersByTime(60 * minute);
    expect([syncs, sweep.mock.calls.length]).toEqual([1, 1]); // offline, the sync does not end
    expiry.synced();
    expect(sweep).toHaveBeenCalledTimes(2);
    expiry.stop();
    vi.advanceTimersByTime(2 * 60 * minute);
    expect(syncs).toBe(1);
  } finally {
    vi.useRealTimers();
  }
});

test("a window that does not store deletes nothing, and a device that cannot is not asked again and again", async () => {
  await stored("1", 10, { keptSeconds: 60 });
  leads = false;
  await swept(() => expiry.synced());
  expect(writes).toEqual([]);
  leads = true;
  fails = true;
  const told = vi.spyOn(console, "warn").mockImplementation(() => {});
  await swept();
  told.mockRestore();
  expect(writes.length).toBe(2); // the first message, and all of them
  expect(await first("1")).toBe(1);
});
