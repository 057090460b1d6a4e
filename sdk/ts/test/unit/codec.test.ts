import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it, vi } from "vitest";
import { create, equals, fromBinary, fromJson, toBinary, toJson, type JsonValue } from "@bufbuild/protobuf";
import { decodeFrame, encodeFrame } from "../../src/codec.js";
import { ClientFrameSchema, ServerFrameSchema, type ServerFrame } from "../../src/gen/rialto/gateway/v1/gateway_pb.js";
import { Random, randomMessage } from "./random.js";

// A run that failed is repeated with its seed: CODEC_SEED=… npm test. CODEC_RUNS makes it longer.
const seed = Number(process.env.CODEC_SEED ?? Date.now() % 2 ** 31);
const runs = Number(process.env.CODEC_RUNS ?? 300);
vi.setConfig({ testTimeout: 60_000 }); // a machine that does much else
console.log(`codec: CODEC_SEED=${seed} CODEC_RUNS=${runs}`);

/** Frames as the two sides of the wire write them: server-frames.json by the Go test that reads client-frames.json, and the other way round. */
interface Stored {
  proto: string;
  json: string;
}

const file = (name: string) => new URL(`./testdata/${name}`, import.meta.url);
const stored = (name: string) => JSON.parse(readFileSync(file(name), "utf8")) as Stored[];

function same(a: ServerFrame, b: ServerFrame, what: string): void {
  expect(equals(ServerFrameSchema, a, b), `seed ${seed}, ${what}`).toBe(true);
}

describe("the codec", () => {
  it("reads in both formats what the server's own codec wrote", () => {
    const frames = stored("server-frames.json");
    expect(frames.length).toBeGreaterThan(50);
    frames.forEach((f, i) => {
      const binary = decodeFrame(Buffer.from(f.proto, "base64"));
      same(binary, decodeFrame(f.json), `stored frame ${i}`);
      expect(binary.$unknown ?? [], `stored frame ${i} has fields that the schema does not`).toEqual([]);
      expect(Buffer.from(toBinary(ServerFrameSchema, binary)).toString("base64")).toBe(f.proto);
    });
  });

  it("writes what it is known to have written, which the server's tests read", () => {
    if (process.env.CODEC_UPDATE) {
      const r = new Random(1);
      const frames = Array.from({ length: 80 }, () => {
        const init = fromJson(ClientFrameSchema, randomMessage(r, ClientFrameSchema) as JsonValue);
        return { proto: Buffer.from(encodeFrame("proto", init) as Uint8Array).toString("base64"), json: encodeFrame("json", init) };
      });
      writeFileSync(file("client-frames.json"), `[\n${frames.map((f) => JSON.stringify(f)).join(",\n")}\n]\n`);
    }
    const frames = stored("client-frames.json");
    expect(frames.length).toBeGreaterThan(50);
    for (const f of frames) {
      const frame = fromBinary(ClientFrameSchema, Buffer.from(f.proto, "base64"));
      expect(Buffer.from(encodeFrame("proto", frame) as Uint8Array).toString("base64")).toBe(f.proto);
      expect(encodeFrame("json", frame)).toBe(f.json);
    }
  });

  it("writes any frame so that it is read back, in both formats", () => {
    const r = new Random(seed);
    for (let i = 0; i < runs; i++) {
      const frame = fromJson(ClientFrameSchema, randomMessage(r, ClientFrameSchema) as JsonValue);
      const binary = encodeFrame("proto", frame);
      const text = encodeFrame("json", frame);
      expect(equals(ClientFrameSchema, fromBinary(ClientFrameSchema, binary as Uint8Array), frame), `seed ${seed}, frame ${i} in protobuf`).toBe(true);
      expect(equals(ClientFrameSchema, fromJson(ClientFrameSchema, JSON.parse(text as string) as JsonValue), frame), `seed ${seed}, frame ${i} in JSON`).toBe(true);
    }
  });

  it("reads any frame, in both formats, also with fields of a later release", () => {
    const r = new Random(seed + 1);
    for (let i = 0; i < runs; i++) {
      const frame = fromJson(ServerFrameSchema, randomMessage(r, ServerFrameSchema) as JsonValue);
      const json = toJson(ServerFrameSchema, frame) as Record<string, unknown>;
      const binary = toBinary(ServerFrameSchema, frame);
      same(decodeFrame(binary), frame, `frame ${i} in protobuf`);
      same(decodeFrame(binary.slice().buffer), frame, `frame ${i} in a buffer`);
      same(decodeFrame(JSON.stringify(json)), frame, `frame ${i} in JSON`);
      same(decodeFrame(JSON.stringify({ ...json, ofALaterRelease: { a: [1] } })), frame, `frame ${i} in JSON with an unknown field`);
      const later = decodeFrame(Uint8Array.from([...binary, 0xfa, 0xff, 0x03, 2, 1, 2])); // field 8,191
      delete later.$unknown;
      same(later, frame, `frame ${i} in protobuf with an unknown field`);
    }
  });

  it("takes damaged frames for what can be written again, or refuses them with an error", () => {
    const r = new Random(seed + 2);
    let refused = 0;
    for (let i = 0; i < 5 * runs; i++) {
      const frame = fromJson(ServerFrameSchema, randomMessage(r, ServerFrameSchema) as JsonValue);
      const binary = r.below(8) === 0 ? r.bytes(60) : damaged(r, toBinary(ServerFrameSchema, frame));
      const text = new TextDecoder().decode(damaged(r, new TextEncoder().encode(JSON.stringify(toJson(ServerFrameSchema, frame)))));
      for (const data of [binary, text]) {
        let got: ServerFrame;
        try {
          got = decodeFrame(data);
        } catch (e) {
          expect(e, `seed ${seed}, input ${i}`).toBeInstanceOf(Error);
          refused++;
          continue;
        }
        same(decodeFrame(toBinary(ServerFrameSchema, got)), got, `input ${i}: ${Buffer.from(data).toString("base64")}`);
      }
    }
    expect(refused).toBeGreaterThan(runs);
  });

  it("writes a frame that has nothing", () => {
    expect(encodeFrame("json", {})).toBe("{}");
    expect(encodeFrame("proto", {})).toHaveLength(0);
    same(decodeFrame("{}"), create(ServerFrameSchema), "an empty frame");
  });
});

/** Bytes of which some are cut off, changed, left out or doubled. */
function damaged(r: Random, bytes: Uint8Array): Uint8Array {
  const b = Array.from(bytes);
  for (let n = 1 + r.below(3); n > 0; n--) {
    const at = r.below(b.length + 1);
    switch (r.below(4)) {
      case 0:
        b.length = at;
        break;
      case 1:
        if (at < b.length) b[at] = r.below(256);
        break;
      case 2:
        b.splice(at, 1 + r.below(4));
        break;
      default:
        b.splice(at, 0, ...b.slice(at, at + r.below(20)));
    }
  }
  return Uint8Array.from(b);
}
