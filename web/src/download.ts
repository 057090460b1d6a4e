import { isOffline } from "@rialto-im/client";
import { useCallback, useEffect, useState } from "react";
import { useClient, useOnline } from "./client.js";
import { errorText } from "./errors.js";
import { useFileUrl, type FileUrl } from "./fileUrl.js";

/** What names a file: a message, a post, or a comment. */
export type FileOf = { conversation: string; seq: number } | { post: string } | { comment: string };

/** One's own file, which nothing names yet. */
export const unsent: FileOf = { conversation: "0", seq: 0 };

/** Tells apart what names files. */
export function sourceKey(of: FileOf): string {
  if ("comment" in of) return `comment/${of.comment}`;
  return "post" in of ? of.post : `${of.conversation}/${of.seq}`;
}

export interface Download extends FileUrl {
  readonly error: string;
  /** It could not be read. URLs expire, so one that is not young is asked for again; until the new one comes, it stays. The edge of a young one is checked. */
  readonly renew: () => void;
}

/** A URL so young has not expired: what fails with it is the file or the edge, and a new URL would fail too. */
const youngMs = 60_000;

const nothing = { upload: "", url: "", error: "", gotMs: 0 };

/** The URL of a file of a message, a post or a comment, "" until it is known, and why it cannot be had. Without a network it waits for it. */
export function useDownload(of: FileOf, upload: string, wanted = true): Download {
  const client = useClient();
  const online = useOnline();
  const [got, setGot] = useState(nothing);
  const [expired, setExpired] = useState("");
  const source = sourceKey(of);
  const known = got.upload === upload && got.url !== "" && got.url !== expired;
  useEffect(() => {
    if (!wanted || known || upload === "0") return;
    let stale = false;
    client.download("post" in of || "comment" in of ? of : { conversation: of.conversation, seq: of.seq }, upload).then(
      (url) => !stale && setGot({ upload, url, error: "", gotMs: Date.now() }),
      (err: unknown) => !stale && !isOffline(err) && setGot({ ...nothing, upload, error: errorText(err) }),
    );
    return () => {
      stale = true;
    };
  }, [client, wanted, known, source, upload, online]);
  const { url: given, gotMs } = got;
  const { url, checkEdge } = useFileUrl(given);
  const renew = useCallback(() => {
    if (Date.now() - gotMs > youngMs) setExpired(given);
    else void checkEdge();
  }, [given, gotMs, checkEdge]);
  return got.upload === upload ? { url, error: got.error, renew, checkEdge } : { url: "", error: "", renew, checkEdge };
}
