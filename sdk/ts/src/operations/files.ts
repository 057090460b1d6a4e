import type { ScheduledMessage } from "../gen/rialto/chat/v1/chat_pb.js";
import type { UnfinishedUpload, Upload } from "../gen/rialto/chat/v1/media_pb.js";
import type { UploadOptions } from "../multipart.js";
import { none } from "../snapshots.js";
import type { Progress } from "../putFile.js";
import { readFile } from "../readFile.js";
import { uploadFile } from "../upload.js";
import { uploadContent, type AboutFile, type FilePart, type PendingUpload } from "../uploads.js";
import { sessionOf, type Context } from "./context.js";

/** Files: what is sent is kept on the device until the server has it. */
export function files(client: Context) {
  const { chat, media } = client.services;
  const at = { ...client.options, edges: client.edges };
  const send = async (conversation: string, parts: readonly FilePart[], caption: string): Promise<void> => sessionOf(client).uploads.add(conversation, parts, caption);
  return {
    /**
     * Uploads a file; the upload can then be sent, or made an avatar. A file above 16 MiB goes in parts: a call for the same file goes on
     * where an earlier one was interrupted, by its signal, a failure, or the end of the page.
     */
    upload(file: Blob, name: string, progress?: Progress, signal?: AbortSignal, options: UploadOptions = {}): Promise<Upload> {
      return uploadFile(media, at, file, name, { ...options, progress, signal, resumes: client.session()?.resumes });
    },

    /** Sends a file, as a message of its own. Resolves once it is kept on the device. */
    sendFile(conversation: string, file: Blob, name: string, caption = "", about: AboutFile = {}): Promise<void> {
      return send(conversation, [{ ...about, file, name }], caption);
    },

    /** Sends a recording as a voice message. waveform has at most 64 samples of its loudness, 0 to 255. */
    sendVoice(conversation: string, file: Blob, durationMs: number, waveform: Uint8Array): Promise<void> {
      return send(conversation, [{ durationMs, waveform, file, name: "voice" }], "");
    },

    /** Sends 2 to 10 pictures and videos as one message with one caption. */
    sendAlbum(conversation: string, parts: readonly FilePart[], caption = ""): Promise<void> {
      return send(conversation, parts, caption);
    },

    /**
     * Uploads files, and has the server send them at a time, in milliseconds since 1970: one file, or an album of 2 to 10 pictures and videos. It needs a connection, because nothing is
     * kept on the device; a second call with the same clientMsgId schedules nothing more.
     */
    async scheduleFiles(conversation: string, clientMsgId: string, parts: readonly FilePart[], caption: string, sendMs: number, signal?: AbortSignal): Promise<ScheduledMessage> {
      const kind = await uploadContent(parts, caption, (file, name) => uploadFile(media, at, file, name, { signal, resumes: client.session()?.resumes }));
      return chat.scheduleMessage({ conversation, clientMsgId, content: { kind }, sendMs: BigInt(sendMs) });
    },

    /** The files on their way, in order. */
    uploads(): readonly PendingUpload[] {
      return client.session()?.uploads.all() ?? none;
    },

    /** Takes a file back that is on its way. */
    async cancelUpload(id: string): Promise<void> {
      await client.session()?.uploads.cancel(id);
    },

    /** Stops the upload of a file until it is resumed. */
    async pauseUpload(id: string): Promise<void> {
      await client.session()?.uploads.pause(id);
    },

    async resumeUpload(id: string): Promise<void> {
      await client.session()?.uploads.resume(id);
    },

    /** Tries again to upload a file that could not be uploaded. */
    retryUpload(id: string): void {
      client.session()?.uploads.retry(id);
    },

    ...unfinished(client),
    ...downloads(client),
  };
}

/** Uploads that were interrupted, on this device or another one. */
function unfinished(client: Context) {
  const { media } = client.services;
  return {
    /**
     * The user's uploads in parts that are not complete, of all devices, the newest first; with a purpose, those that began with it. `upload` continues one with the same
     * file, `abortUpload` drops it.
     */
    async unfinishedUploads(purpose = ""): Promise<readonly UnfinishedUpload[]> {
      return (await media.listUnfinishedUploads({ purpose })).uploads;
    },

    /** Drops an upload that is not complete, and what the server has of it. */
    async abortUpload(upload: string): Promise<void> {
      await media.abortUpload({ upload });
    },
  };
}

/** Reading files, from edges where there are any. */
function downloads(client: Context) {
  const { media } = client.services;
  return {
    /** A URL for a file that a message, a post or a comment names, or without `seq` for a group's picture; good for some minutes. */
    async download(of: { conversation: string; seq?: number } | { post: string } | { comment: string }, upload: string): Promise<string> {
      const asked = media.getDownload("post" in of ? { upload, post: of.post } : "comment" in of ? { upload, comment: of.comment } : { upload, conversation: of.conversation, seq: BigInt(of.seq ?? 0) });
      const [{ url }] = await Promise.all([asked, client.edges.ready()]);
      return client.edges.place(url);
    },

    /**
     * An address of a file or a video did not answer. Returns where to read instead; undefined: there is no other, as where it was not of an edge. tried are the origins,
     * as https://edge1.example.com, that the file was asked of already: edges that failed a minute ago are offered again, but not these.
     */
    replaceUrl(url: string, tried?: ReadonlySet<string>): string | undefined {
      return client.edges.replace(url, tried);
    },

    /** Where to read a file whose URL was got some time ago: elsewhere while its edge counts as failed. */
    currentUrl(url: string): string {
      return client.edges.current(url);
    },

    /** Reads a file, into memory. Where its edge does not answer, sends nothing for 10 seconds, or fails, it is read elsewhere. */
    readFile(url: string, signal?: AbortSignal): Promise<Blob> {
      return readFile(client.edges, client.options.fetch, url, signal);
    },

    /** `replaceUrl` for one who does not know why a file did not come, as of a picture in a page: only where its edge does not answer at all. */
    replaceLostUrl(url: string): Promise<string | undefined> {
      return client.edges.replaceIfLost(url);
    },
  };
}
