import { isOffline } from "@rialto-im/client";
import { useCallback, useEffect, useState } from "react";
import { useClient, useOnline } from "./client.js";
import { errorText } from "./errors.js";

/** A file of a message. */
export interface FileOf {
  conversation: string;
  seq: number;
}

export interface Download {
  readonly url: string;
  readonly error: string;
  /** Asks for a new URL where this one works no longer: URLs expire. Until it comes, the old one stays. */
  readonly renew: () => void;
}

/** A URL so young has not expired: what fails with it is the file, and a new URL would fail too. */
const youngMs = 60_000;

const nothing = { upload: "", url: "", error: "", gotMs: 0 };

/** The URL of a message's file, "" until it is known, and why it cannot be had. Without a network it waits for it. */
export function useDownload({ conversation, seq }: FileOf, upload: string, wanted = true): Download {
  const client = useClient();
  const online = useOnline();
  const [got, setGot] = useState(nothing);
  const [expired, setExpired] = useState("");
  const known = got.upload === upload && got.url !== "" && got.url !== expired;
  useEffect(() => {
    if (!wanted || known || upload === "0") return;
    let stale = false;
    client.download({ conversation, seq }, upload).then(
      (url) => !stale && setGot({ upload, url, error: "", gotMs: Date.now() }),
      (err: unknown) => !stale && !isOffline(err) && setGot({ ...nothing, upload, error: errorText(err) }),
    );
    return () => {
      stale = true;
    };
  }, [client, wanted, known, conversation, seq, upload, online]);
  const { url, gotMs } = got;
  const renew = useCallback(() => {
    if (Date.now() - gotMs > youngMs) setExpired(url);
  }, [url, gotMs]);
  return got.upload === upload ? { url, error: got.error, renew } : { url: "", error: "", renew };
}
