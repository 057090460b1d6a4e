import { expect, test } from "vitest";
import { refusalOf } from "../src/videoIndex.js";

/** A box of so many bytes, which says that it has as many as told; large ones say so in 64 bits. */
function box(kind: string, size: number, told = size, large = false): Uint8Array {
  const bytes = new Uint8Array(size);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, large ? 1 : told);
  for (let i = 0; i < 4; i++) view.setUint8(4 + i, kind.charCodeAt(i));
  if (large) view.setBigUint64(8, BigInt(told));
  return bytes;
}

const reasonOf = async (...parts: Uint8Array[]) => (await refusalOf(new Blob(parts as BlobPart[])))?.reason;
const ftyp = box("ftyp", 32);
const moov = box("moov", 64);
const mdat = box("mdat", 5_000);

test("a whole file may be a video, wherever its index is", async () => {
  expect(await reasonOf(ftyp, moov, mdat)).toBe(undefined);
  expect(await reasonOf(ftyp, mdat, moov)).toBe(undefined);
  expect(await reasonOf(ftyp, box("mdat", 100, 100, true), moov)).toBe(undefined);
  expect(await reasonOf(ftyp, moov, box("mdat", 100, 0))).toBe(undefined); // to the end
  expect(await reasonOf(ftyp, moov, box("moof", 40), mdat, new Uint8Array(5))).toBe(undefined);
  expect(await reasonOf(new Uint8Array([0x1a, 0x45, 0xdf, 0xa3]), new Uint8Array(100))).toBe(undefined); // the server knows Matroska
  expect(await reasonOf(ftyp, ...Array.from({ length: 4_200 }, () => box("free", 8)))).toBe(undefined); // the server says what is too much
});

test("what is cut off, or no video, is refused before it is sent", async () => {
  expect(await reasonOf(new TextEncoder().encode("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n"))).toBe("not_a_video");
  expect(await reasonOf(ftyp.slice(0, 20))).toBe("not_a_video");
  expect(await reasonOf()).toBe("not_a_video");
  expect(await reasonOf(ftyp, box("free", 100))).toBe("not_a_video");
  for (const cut of [[ftyp, mdat], [ftyp, moov], [ftyp, moov, mdat.slice(0, -1)], [ftyp, mdat, moov.slice(0, 30)], [ftyp, moov, box("mdat", 100, 1e15, true)], [ftyp, moov, box("mdat", 9, 7)], [ftyp, moov, mdat, box("free", 8, 1)]]) {
    expect(await reasonOf(...cut)).toBe("video_damaged");
  }
});
