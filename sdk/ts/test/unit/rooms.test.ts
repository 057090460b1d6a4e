import { create } from "@bufbuild/protobuf";
import { expect, test, vi } from "vitest";
import type { ClientFrameInit } from "../../src/codec.js";
import { RoomEntrySchema, RoomLeft } from "../../src/gen/rialto/chat/v1/room_pb.js";
import { ServerFrameSchema } from "../../src/gen/rialto/gateway/v1/gateway_pb.js";
import { Rooms } from "../../src/rooms.js";

function made() {
  const sent: ClientFrameInit[] = [];
  const rooms = new Rooms({ api: () => undefined as never, format: "proto", send: (f) => sent.push(f) > 0, onChange: () => {} });
  const take = (f: object) => rooms.took(create(ServerFrameSchema, { request: 0n, ...f } as never));
  const entered = (...texts: string[]) => take({ request: sent.at(-1)!.request, room: create(RoomEntrySchema, { room: { id: "7", title: "a room" }, recent: texts.map(message), likes: 2n, viewers: 3 } as never) });
  return { sent, rooms, take, entered, texts: () => rooms.view("7")?.messages.map((m) => m.kind.value) };
}

const message = (text: string) => ({ id: text, kind: { case: "text" as const, value: text } });

test("a room is entered again after a reconnect, and shows each message once", () => {
  const { sent, rooms, take, entered, texts } = made();
  const leave = rooms.enter("7");
  expect(sent).toMatchObject([{ enterRoom: "7" }]);
  entered("1", "2");
  take({ rooms: [{ room: "7", messages: [message("3")], likes: 9n }, { room: "8", messages: [message("x")] }] });
  rooms.opened();
  expect(rooms.view("7")?.state).toBe("entering");
  entered("2", "3", "4");
  expect(texts()).toEqual(["1", "2", "3", "4"]);
  take({ rooms: [{ room: "7", missed: 5 }] });
  expect(rooms.view("7")).toMatchObject({ state: "inside", viewers: 3, missed: 5 });
  leave();
  leave();
  expect(sent.at(-1)).toEqual({ leaveRoom: "7" });
  expect(rooms.view("7")).toBeUndefined();
});

test("who is kicked does not enter again by itself", () => {
  const { sent, rooms, take, entered } = made();
  rooms.enter("7");
  entered();
  take({ rooms: [{ room: "7", left: RoomLeft.KICKED }] });
  rooms.opened();
  expect(rooms.view("7")).toMatchObject({ state: "out", left: "kicked" });
  expect(sent.length).toBe(1);
});

test("a refusal is shown, and one that passes is tried again", () => {
  vi.useFakeTimers();
  try {
    const { sent, rooms, take } = made();
    rooms.enter("7");
    take({ request: sent[0]!.request, error: { code: "unavailable", reason: "room_moving", message: "wait", retryMs: 1000 } });
    expect(rooms.view("7")?.state).toBe("entering");
    vi.runOnlyPendingTimers();
    expect(sent.length).toBe(2);
    take({ request: sent[1]!.request, error: { code: "not_found", reason: "no_room", message: "no" } });
    expect(rooms.view("7")).toMatchObject({ state: "out", error: { reason: "no_room" } });
  } finally {
    vi.useRealTimers();
  }
});

test("likes are sent together, and no more than are counted", () => {
  vi.useFakeTimers();
  try {
    const { sent, rooms, entered } = made();
    rooms.enter("7");
    entered();
    for (let i = 0; i < 1000; i++) rooms.like("7");
    expect(sent.length).toBe(1);
    vi.runOnlyPendingTimers();
    expect(sent.length).toBe(2);
    expect(sent[1]).toMatchObject({ call: { method: "/rialto.chat.v1.RoomService/LikeRoom", payload: new Uint8Array([8, 7, 16, 20]) } });
  } finally {
    vi.useRealTimers();
  }
});
