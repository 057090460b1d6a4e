import { create, toBinary, toJson, type MessageInitShape } from "@bufbuild/protobuf";
import { methodPath, type ServiceClient } from "./api.js";
import type { ClientFrameInit, Format } from "./codec.js";
import { RialtoError } from "./errors.js";
import { LikeRoomRequestSchema, RoomLeft, RoomService, type Room, type RoomMessage, type RoomRestriction } from "./gen/rialto/chat/v1/room_pb.js";
import type { ServerFrame } from "./gen/rialto/gateway/v1/gateway_pb.js";

/** A chat room as this client sees it while it is in it. Views are replaced, never changed. */
export interface RoomView {
  /** entering: also again, after the connection broke. out: kicked, closed or refused; see left and error. */
  readonly state: "entering" | "inside" | "out";
  readonly room: Room | undefined;
  /** The last messages, the oldest first. */
  readonly messages: readonly RoomMessage[];
  readonly likes: number;
  /** About how many users are in the room. */
  readonly viewers: number;
  /** Messages that this client did not get. */
  readonly missed: number;
  readonly mutedUntilMs: number;
  readonly left: "kicked" | "closed" | undefined;
  /** Why the room could not be entered. */
  readonly error: RialtoError | undefined;
}

export interface RoomsDeps {
  api: () => ServiceClient<typeof RoomService>;
  format: Format;
  /** Sends a frame by the socket; false where there is none. */
  send: (frame: ClientFrameInit) => boolean;
  onChange: () => void;
}

const kept = 200;
const likesMs = 1000;
const mostLikes = 20;
const retryMs = 2000;
const fresh: RoomView = { state: "entering", room: undefined, messages: [], likes: 0, viewers: 0, missed: 0, mutedUntilMs: 0, left: undefined, error: undefined };

interface Entered {
  view: RoomView;
  users: number;
  request: bigint;
  /** Likes that the server was not told of. */
  likes: number;
  likesTimer?: ReturnType<typeof setTimeout>;
  retryTimer?: ReturnType<typeof setTimeout>;
}

/** Rooms are live chat rooms: entered on the socket, again after each reconnect, and not stored. */
export class Rooms {
  private readonly entered = new Map<string, Entered>();
  /** Numbers that nothing else on the socket uses. */
  private requests = 1n << 32n;

  constructor(private readonly deps: RoomsDeps) {}

  /** Enters a room. The function that is returned leaves it; of several who entered, the last one does. */
  enter(room: string): () => void {
    let e = this.entered.get(room);
    if (!e) {
      e = { view: fresh, users: 0, request: 0n, likes: 0 };
      this.entered.set(room, e);
      this.ask(room, e);
    }
    e.users++;
    let inside = true;
    return () => {
      if (!inside) return;
      inside = false;
      if (--e.users > 0) return;
      clearTimeout(e.likesTimer);
      clearTimeout(e.retryTimer);
      if (this.entered.get(room) === e) this.entered.delete(room);
      this.deps.send({ leaveRoom: room });
    };
  }

  /** A room that was entered. */
  view(room: string): RoomView | undefined {
    return this.entered.get(room)?.view;
  }

  /** Sends a text. It comes back with the room's messages; a call without an answer is not repeated. */
  async send(room: string, text: string): Promise<void> {
    await this.deps.api().sendRoomMessage({ room, kind: { case: "text", value: text } });
  }

  /** Sends a message for programs. */
  async signal(room: string, type: string, data: Uint8Array): Promise<void> {
    await this.deps.api().sendRoomMessage({ room, kind: { case: "signal", value: { type, data } } });
  }

  /** Likes the room. Likes are sent together, at most 20 a second; more are not counted. */
  like(room: string, count = 1): void {
    const e = this.entered.get(room);
    if (!e || e.view.state !== "inside") return;
    e.likes = Math.min(e.likes + count, mostLikes);
    e.likesTimer ??= setTimeout(() => {
      e.likesTimer = undefined;
      this.sendLikes(room, e.likes);
      e.likes = 0;
    }, likesMs);
  }

  create(title: string): Promise<Room> {
    return this.deps.api().createRoom({ title });
  }

  get(room: string): Promise<Room> {
    return this.deps.api().getRoom({ room });
  }

  /** The open rooms that the user owns or moderates. */
  async list(): Promise<Room[]> {
    return (await this.deps.api().listRooms({})).rooms;
  }

  update(room: string, change: { title?: string; announcement?: string; muted?: boolean }): Promise<Room> {
    return this.deps.api().updateRoom({ room, ...change });
  }

  close(room: string): Promise<Room> {
    return this.deps.api().closeRoom({ room });
  }

  setModerator(room: string, user: string, moderator: boolean): Promise<Room> {
    return this.deps.api().setRoomModerator({ room, user, moderator });
  }

  /** Takes a user out for a time; 0 seconds let the user in again. */
  async kick(room: string, user: string, seconds: number): Promise<void> {
    await this.deps.api().kickFromRoom({ room, user, seconds });
  }

  /** Keeps a user from writing for a time; 0 seconds end it. */
  async mute(room: string, user: string, seconds: number): Promise<void> {
    await this.deps.api().muteInRoom({ room, user, seconds });
  }

  /** The users who are kicked or muted, for moderators. */
  async restrictions(room: string): Promise<RoomRestriction[]> {
    return (await this.deps.api().listRoomRestrictions({ room })).restrictions;
  }

  /** The socket is open: it is in no room yet. */
  opened(): void {
    for (const [room, e] of this.entered) if (e.view.state !== "out") this.ask(room, e);
  }

  /** Takes what a frame says of rooms. */
  took(f: ServerFrame): void {
    if (f.room) this.answered(f);
    else if (f.error && f.request > 0n) this.refused(f.request, new RialtoError(f.error.code, f.error.message, f.error.reason, f.error.retryMs));
    for (const u of f.rooms) {
      const e = this.entered.get(u.room);
      if (!e) continue;
      const v = e.view;
      this.show(e, {
        ...v,
        messages: u.messages.length > 0 ? joined(v.messages, u.messages) : v.messages,
        missed: v.missed + u.missed,
        likes: u.likes === undefined ? v.likes : Number(u.likes),
        viewers: u.viewers ?? v.viewers,
        room: u.changed ?? v.room,
        ...(u.left === RoomLeft.UNSPECIFIED ? {} : { state: "out" as const, left: u.left === RoomLeft.KICKED ? ("kicked" as const) : ("closed" as const) }),
      });
    }
  }

  /** The user has left: what this client was in is over. */
  forget(): void {
    for (const e of this.entered.values()) {
      clearTimeout(e.likesTimer);
      clearTimeout(e.retryTimer);
    }
    this.entered.clear();
  }

  private ask(room: string, e: Entered): void {
    clearTimeout(e.retryTimer);
    e.request = ++this.requests;
    if (e.view.state !== "entering") this.show(e, { ...e.view, state: "entering" });
    this.deps.send({ request: e.request, enterRoom: room });
  }

  private answered(f: ServerFrame): void {
    const room = f.room!.room?.id ?? "";
    const e = this.entered.get(room);
    if (!e) {
      this.deps.send({ leaveRoom: room }); // it was left meanwhile
      return;
    }
    const { recent, likes, viewers, mutedUntilMs } = f.room!;
    this.show(e, { ...e.view, state: "inside", room: f.room!.room, messages: joined(e.view.messages, recent), likes: Number(likes), viewers, mutedUntilMs: Number(mutedUntilMs), left: undefined, error: undefined });
  }

  private refused(request: bigint, error: RialtoError): void {
    for (const [room, e] of this.entered) {
      if (e.request !== request || e.view.state !== "entering") continue;
      if (error.code !== "unavailable") this.show(e, { ...e.view, state: "out", error, left: error.reason === "kicked" ? "kicked" : error.reason === "room_closed" ? "closed" : undefined });
      else e.retryTimer = setTimeout(() => this.ask(room, e), Math.max(error.retryMs, retryMs));
    }
  }

  private sendLikes(room: string, count: number): void {
    // On the socket: only the server that has it knows that the user is in the room.
    const request = create(LikeRoomRequestSchema, { room, count });
    const method = methodPath(RoomService.method.likeRoom);
    const call: MessageInitShape<typeof import("./gen/rialto/gateway/v1/gateway_pb.js").CallSchema> =
      this.deps.format === "json" ? { method, body: toJson(LikeRoomRequestSchema, request) as never } : { method, payload: toBinary(LikeRoomRequestSchema, request) };
    this.deps.send({ request: ++this.requests, call });
  }

  private show(e: Entered, view: RoomView): void {
    e.view = view;
    this.deps.onChange();
  }
}

/** The messages with new ones behind them, each once. */
function joined(messages: readonly RoomMessage[], more: readonly RoomMessage[]): readonly RoomMessage[] {
  const known = new Set(messages.map((m) => m.id));
  return [...messages, ...more.filter((m) => !known.has(m.id))].slice(-kept);
}
