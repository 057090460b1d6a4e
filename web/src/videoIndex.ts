import { RialtoError } from "@rialto-im/client";

/** Boxes with which files of MP4 and QuickTime begin. */
const beginnings = new Set(["ftyp", "moov", "wide", "free", "skip", "mdat", "styp"]);
/** Boxes of a file that are looked at. The server counts them, too. */
const mostBoxes = 4096;
/** Bytes of the smallest file that may be a video. */
const least = 32;

const notAVideo = () => new RialtoError("invalid_argument", "this file is not a video; upload an MP4, QuickTime, Matroska or WebM file", "not_a_video");
const damaged = () => new RialtoError("invalid_argument", "this video is incomplete or damaged; export it again, and upload that", "video_damaged");

/**
 * Reads on the device where the index and the pictures of a video file are, before any of it is sent, and returns why the server would refuse the file; undefined: it may be
 * a video. The server checks more, and all again.
 */
export async function refusalOf(file: Blob): Promise<RialtoError | undefined> {
  const read = async (at: number, n: number) => new DataView(await file.slice(at, at + n).arrayBuffer());
  const head = await read(0, least);
  if (head.byteLength < least) return notAVideo();
  if (head.getUint32(0) === 0x1a45dfa3) return undefined; // Matroska
  if (!beginnings.has(kindOf(head))) return notAVideo();
  const kinds = new Set<string>();
  for (let at = 0, n = 0; file.size - at >= 8; ) {
    if (++n > mostBoxes) return undefined;
    const box = await read(at, 16);
    let size = box.getUint32(0);
    if (size === 0) size = file.size - at; // to the end
    else if (size === 1 && box.byteLength < 16) return damaged();
    else if (size === 1) size = Number(box.getBigUint64(8));
    if (size < 8 || size > file.size - at) return damaged();
    kinds.add(kindOf(box));
    at += size;
  }
  const [hasIndex, hasData] = [kinds.has("moov"), kinds.has("mdat") || kinds.has("moof")];
  if (!hasIndex && !hasData) return notAVideo();
  return hasIndex && hasData ? undefined : damaged();
}

const kindOf = (box: DataView) => String.fromCharCode(box.getUint8(4), box.getUint8(5), box.getUint8(6), box.getUint8(7));
