import { create } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { ReadersUpdateSchema } from "../../src/gen/rialto/gateway/v1/gateway_pb.js";
import { ReaderLists, type NewReaders } from "../../src/readers.js";

test("open lists are watched, on each socket, until they are closed", () => {
  const asked: string[] = [];
  const lists = new ReaderLists((messages) => asked.push(messages.map((m) => `${m.conversation}/${m.seq}`).join(" ")));
  lists.opened();
  expect(asked, "nothing is open").toEqual([]);
  const close = lists.watch("5", 7, () => {});
  const closeOther = lists.watch("6", 1, () => {});
  lists.opened();
  close();
  close();
  closeOther();
  expect(asked).toEqual(["5/7", "5/7 6/1", "5/7 6/1", "6/1", ""]);
  for (let seq = 1; seq <= 9; seq++) lists.watch("5", seq, () => {});
  expect(asked.at(-1), "the server's limit").toBe("5/2 5/3 5/4 5/5 5/6 5/7 5/8 5/9");
});

test("a list is told of its readers, and to read again at the beginning and where there are more", () => {
  const told: NewReaders[] = [];
  const lists = new ReaderLists(() => {});
  const close = lists.watch("5", 7, (n) => told.push(n));
  const update = (conversation: string, seq: bigint, users: string[], more = false) => create(ReadersUpdateSchema, { conversation, seq, users, more });
  lists.take([update("5", 7n, []), update("5", 8n, ["1"]), update("6", 7n, ["2"])]);
  lists.take([update("5", 7n, ["3"])]);
  lists.take([update("5", 7n, ["4"], true)]);
  close();
  lists.take([update("5", 7n, ["5"])]);
  expect(told).toEqual([{ users: [], more: true }, { users: ["3"], more: false }, { users: ["4"], more: true }]);
});
