import { useCallback, useEffect, useMemo, useState } from "react";
import { useClient } from "./client.js";
import { watchPicture } from "./watchPicture.js";

/** A URL of a file that is shown, which leads elsewhere once its edge does not answer. */
export interface FileUrl {
  /** Empty: it is not known. */
  readonly url: string;
  /** It does not come, or did not: asks whether its edge answers, and resolves to whether it is read from elsewhere now. */
  readonly checkEdge: () => Promise<boolean>;
}

/** Follows a URL of the client to where its file can be read. */
export function useFileUrl(given: string): FileUrl {
  const client = useClient();
  const [moved, setMoved] = useState({ given: "", url: "" });
  const first = useMemo(() => (given === "" ? "" : client.currentUrl(given)), [client, given]);
  const url = moved.given === given ? moved.url : first;
  const checkEdge = useCallback(async () => {
    const other = url === "" ? undefined : await client.replaceLostUrl(url);
    if (other !== undefined) setMoved({ given, url: other });
    return other !== undefined;
  }, [client, given, url]);
  return { url, checkEdge };
}

/** Loads a picture that no element shows by itself, as the background of one. */
export function usePreloaded({ url, checkEdge }: FileUrl, wanted: boolean): void {
  useEffect(() => {
    if (!wanted || url === "") return;
    const img = new Image();
    img.onerror = () => void checkEdge();
    img.src = url;
    return watchPicture(img, () => void checkEdge());
  }, [url, checkEdge, wanted]);
}
