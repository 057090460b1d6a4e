import { expect, test } from "vitest";
import type { ReplicaDeps } from "../../src/localdata.js";
import { Replica } from "../../src/replica.js";
import { memoryStorage } from "../../src/storage.js";

/** A replica whose syncs are answered by the test, one after the other. */
async function replica() {
  const asked: { after: number; answer: (next: number) => void }[] = [];
  const sync = ({ after }: { after: { seq: bigint } }) =>
    new Promise((resolve) => asked.push({ after: Number(after.seq), answer: (next) => resolve({ events: [], more: false, reset: false, large: [], next: { epoch: 1, seq: BigInt(next) } }) }));
  const nothing = () => {};
  const deps = {
    me: "1", store: await memoryStorage().open("1"), marks: { acknowledge: nothing }, api: { sync }, graph: {}, isLeader: () => true, now: Date.now,
    onChange: nothing, onMessage: nothing, onRelation: nothing, onUpdated: nothing, onProfile: nothing, onSettings: nothing, onReset: nothing, onJoinRequests: nothing, onInvitations: nothing, onFolders: nothing, ownStored: nothing,
  } as unknown as ReplicaDeps;
  const r = new Replica(deps);
  r.data.position = { epoch: 1, seq: 5 };
  return { r, asked, turn: () => new Promise((resolve) => setTimeout(resolve, 0)) };
}

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
