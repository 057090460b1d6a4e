import { ScalarType, type DescField, type DescMessage } from "@bufbuild/protobuf";

/** A generator of numbers that a seed repeats (mulberry32). */
export class Random {
  constructor(private state: number) {}

  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  }

  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  bytes(most: number): Uint8Array {
    return Uint8Array.from({ length: this.below(most + 1) }, () => this.below(256));
  }

  text(): string {
    const pieces = ["", "a", "hello ", "你好", "👋🏽", '"', "\\", "\n", "\u0000", "\u2028", "é", "x".repeat(200)];
    return Array.from({ length: this.below(4) }, () => this.pick(pieces)).join("");
  }

  /** Whole numbers of so many bits, often at their ends. */
  whole(bits: number, signed: boolean): bigint {
    const b = BigInt(bits);
    const most = 1n << (signed ? b - 1n : b);
    const edges = [0n, 1n, 127n, 128n, 300n, most / 2n, most - 1n, ...(bits === 64 ? [1n << 53n, (1n << 53n) + 1n] : []), ...(signed ? [-1n, -most] : [])];
    if (this.below(2) === 0) return this.pick(edges);
    const n = (BigInt(this.below(2 ** 32)) << 32n) | BigInt(this.below(2 ** 32));
    return signed ? BigInt.asIntN(bits, n) : BigInt.asUintN(bits, n);
  }
}

/** A random message in JSON, with some of its fields, nested at most so deep. */
export function randomMessage(r: Random, schema: DescMessage, depth = 4): Record<string, unknown> {
  const json: Record<string, unknown> = {};
  const oneofs = new Set<string>();
  for (const field of schema.fields) {
    if (r.below(3) !== 0) continue;
    if (field.oneof !== undefined) {
      if (oneofs.has(field.oneof.name)) continue;
      oneofs.add(field.oneof.name);
    }
    const value = randomField(r, field, depth);
    if (value !== undefined) json[field.jsonName] = value;
  }
  return json;
}

function randomField(r: Random, field: DescField, depth: number): unknown {
  switch (field.fieldKind) {
    case "list": {
      const values = Array.from({ length: r.below(4) }, () => randomValue(r, field, depth));
      return values.includes(undefined) ? undefined : values;
    }
    case "map":
      throw new Error(`${field.toString()}: maps are not generated yet; say how`);
    default:
      return randomValue(r, field, depth);
  }
}

function randomValue(r: Random, field: DescField, depth: number): unknown {
  if (field.message !== undefined) {
    if (field.message.typeName === "google.protobuf.Struct") return randomObject(r, 3);
    if (field.message.typeName.startsWith("google.protobuf.")) throw new Error(`${field.message.typeName} is not generated yet; say how`);
    return depth > 0 ? randomMessage(r, field.message, depth - 1) : undefined;
  }
  if (field.enum !== undefined) return r.below(4) === 0 ? 90 + r.below(9) : r.pick(field.enum.values).number;
  switch (field.scalar) {
    case ScalarType.BOOL:
      return r.below(2) === 0;
    case ScalarType.STRING:
      return r.text();
    case ScalarType.BYTES:
      return Buffer.from(r.bytes(20)).toString("base64");
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return Math.fround(r.next() * 1e6 - 5e5);
    case ScalarType.INT64:
    case ScalarType.SINT64:
    case ScalarType.SFIXED64:
      return r.whole(64, true).toString();
    case ScalarType.UINT64:
    case ScalarType.FIXED64:
      return r.whole(64, false).toString();
    case ScalarType.UINT32:
    case ScalarType.FIXED32:
      return Number(r.whole(32, false));
    default:
      return Number(r.whole(32, true));
  }
}

function randomObject(r: Random, depth: number): Record<string, unknown> {
  return Object.fromEntries(Array.from({ length: r.below(4) }, (_, i) => [`${r.text()}${i}`, randomJSON(r, depth)]));
}

function randomJSON(r: Random, depth: number): unknown {
  switch (r.below(depth > 0 ? 6 : 4)) {
    case 0:
      return null;
    case 1:
      return r.below(2) === 0;
    case 2:
      return r.below(2 ** 31) - 2 ** 30;
    case 3:
      return r.text();
    case 4:
      return Array.from({ length: r.below(4) }, () => randomJSON(r, depth - 1));
    default:
      return randomObject(r, depth - 1);
  }
}
