import type { Upload } from "./gen/rialto/chat/v1/media_pb.js";
import { uploadParts, type PartsOptions } from "./multipart.js";
import { putThroughEdges, type FileAddress, type Media } from "./putFile.js";
import { SpeedMeter } from "./speed.js";

/** Files above this size, in bytes, are uploaded in parts, and go on after an interruption. */
export const partsAbove = 16 << 20;

/** Uploads a file; the upload can then be sent, or made an avatar. */
export async function uploadFile(media: Media, at: FileAddress, file: Blob, name: string, options: PartsOptions = {}): Promise<Upload> {
  const { progress, signal } = options;
  if (file.size > partsAbove || options.upload !== undefined) return uploadParts(media, at, file, name, options);
  const slot = await media.createUpload({ name, mimeType: file.type, size: BigInt(file.size) });
  const meter = new SpeedMeter(0, file.size);
  await putThroughEdges(at, slot.url, file, progress && ((sent) => progress(sent, file.size, meter.add(sent))), signal);
  return media.completeUpload({ upload: slot.upload });
}
