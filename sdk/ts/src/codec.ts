import { create, fromBinary, fromJson, toBinary, toJson, type MessageInitShape } from "@bufbuild/protobuf";
import { ClientFrameSchema, ServerFrameSchema, type ClientFrame, type ServerFrame } from "./gen/rialto/gateway/v1/gateway_pb.js";

export type Format = "proto" | "json";
export type ClientFrameInit = MessageInitShape<typeof ClientFrameSchema>;

/** The WebSocket subprotocol of a format. */
export function subprotocol(format: Format): string {
  return `rialto.v1.${format}`;
}

export function encodeFrame(format: Format, frame: ClientFrameInit): string | Uint8Array<ArrayBuffer> {
  const msg: ClientFrame = create(ClientFrameSchema, frame);
  return format === "json" ? JSON.stringify(toJson(ClientFrameSchema, msg)) : bytes(toBinary(ClientFrameSchema, msg));
}

export function decodeFrame(data: string | ArrayBuffer | Uint8Array): ServerFrame {
  if (typeof data === "string") return fromJson(ServerFrameSchema, JSON.parse(data), { ignoreUnknownFields: true });
  return fromBinary(ServerFrameSchema, data instanceof Uint8Array ? data : new Uint8Array(data));
}

function bytes(b: Uint8Array): Uint8Array<ArrayBuffer> {
  return b as Uint8Array<ArrayBuffer>;
}
